import { depthProblem } from '../core/json/json-depth.ts'

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

function shortened(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return Array.isArray(value) ? [] : {}
  if (Array.isArray(value)) return value.map((item) => shortened(item, levels - 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shortened(item, levels - 1)]))
}
