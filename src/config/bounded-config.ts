import { hiddenKey, isRecord } from '../core/check-options.ts'
import { depthProblem } from '../core/json/json-depth.ts'
import type { Config } from './config.ts'

/** An entry of `tools.registry` that is nested too deeply. It stays in the list, so that the others keep their places. */
export class RefusedDefinition {
  readonly name: unknown
  readonly problem: string

  constructor(entry: unknown, problem: string) {
    this.name = Object(entry).name
    this.problem = problem
  }
}

/** Deeper schemas are refused: the rest isn't needed to say so. */
const KEPT_LEVELS = 64

/** Shortens a definition that is nested too deeply to its schema's first levels, or replaces it. */
export function boundedDefinition(entry: unknown): unknown {
  const problem = depthProblem(entry)
  if (problem === undefined) return entry
  const { parameters, ...rest } = Object(entry) as Readonly<Record<string, unknown>>
  return depthProblem(rest) === undefined
    ? { ...rest, parameters: shortened(parameters, KEPT_LEVELS) }
    : new RefusedDefinition(entry, problem)
}

/** The configuration with bounded definitions, and what else in it is nested too deeply. */
export function boundedConfig(value: unknown): { readonly config: unknown; readonly problem?: string } {
  const problem = depthProblem(value)
  if (problem === undefined) return { config: value }
  const { tools } = Object(value) as { tools?: { registry?: unknown } }
  const registry: unknown = Object(tools).registry
  if (!Array.isArray(registry)) return { config: value, problem }
  const rest = depthProblem({ ...Object(value), tools: { ...tools, registry: [] } })
  if (rest !== undefined) return { config: value, problem: rest }
  return { config: { ...Object(value), tools: { ...tools, registry: registry.map(boundedDefinition) } } }
}

/** The configuration with tools, unless it disables them. Parts that can't be copied stay as they are, to be refused. */
export function withTools(config: Config): Config {
  if (!isRecord(config) || (config.tools !== undefined && !isRecord(config.tools))) return config
  if (hiddenKey(config) !== undefined || hiddenKey(config.tools ?? {}) !== undefined) return config
  return { ...config, tools: { enabled: true, ...config.tools } }
}

/** What JSON can't hold of a configuration, such as a Map or a key that isn't enumerable: no check sees its settings. */
export function strangePart(value: unknown, place = '', seen = new Set<unknown>()): string | undefined {
  // Entries of the registry are checked one by one.
  if (typeof value !== 'object' || value === null || place === 'tools.registry' || seen.has(value)) return undefined
  const isList = Array.isArray(value)
  if (!isList && !isRecord(value)) return `${place || 'it'} must be a plain object: write it as {}.`
  const before = place === '' ? '' : `${place}.`
  const hidden = isList ? undefined : hiddenKey(value)
  if (hidden !== undefined) return `${before}${hidden} is not enumerable: write it as {${hidden}: …}.`
  seen.add(value)
  for (const [key, one] of Object.entries(value)) {
    const found = strangePart(one, isList ? `${place}[${key}]` : `${before}${key}`, seen)
    if (found !== undefined) return found
  }
  return undefined
}

function shortened(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return Array.isArray(value) ? [] : {}
  if (Array.isArray(value)) return value.map((item) => shortened(item, levels - 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shortened(item, levels - 1)]))
}
