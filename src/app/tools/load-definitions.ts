import { boundedDefinition, RefusedDefinition } from '../../config/bounded-config.ts'
import { includedFile, placeOf } from '../../config/include-tools.ts'
import { hasSourced, missingVariable, SOURCED_ELSEWHERE, valueIn } from '../../core/environment.ts'
import { approvalFault } from '../../core/execution/approvals.ts'
import { sharedFault } from '../../core/execution/program-tools.ts'
import { bindCost } from '../../core/execution/tool-cost.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { versionOf, versionProblem, withJsonSchema } from '../../core/execution/tool-view.ts'
import type { Kind } from '../../core/handler.ts'
import { foreignText } from '../../core/json/json-depth.ts'
import type { Log } from '../../core/log.ts'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { checkAhead, guardParameters } from '../../core/schema/guard-schema.ts'
import { parametersProblem } from '../../core/schema/json-schema-of.ts'
import { shortened, unknownKeys } from '../../core/schema/problem-words.ts'
import { suggest } from '../../core/suggest.ts'
import { DEFINITION_SCHEMA, type ToolDefinition } from '../../core/tool.ts'
import { JsonPath } from '../../kinds/path/json-path.ts'
import type { PackagedEntry } from '../../packages/load-packages.ts'

/** The result of loading `tools.registry`. */
export interface LoadReport {
  readonly loaded: readonly string[]
  /** Invalid definitions that were skipped. */
  readonly skipped: readonly { readonly name: string; readonly problem: string }[]
  /** Problems of tools that are loaded, such as a variable that is not set or a cache that is ignored. */
  readonly warnings: readonly { readonly name: string; readonly problem: string }[]
}

interface LoadOptions {
  readonly registry: ToolRegistry
  readonly kinds: Readonly<Record<string, Kind>>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: Log
  /** Whether there is a store for approvals. */
  readonly canAsk?: boolean
  /** Whether tools are added later: only then is it known whether tools that call others can run. */
  readonly more?: boolean
  /** A tool of ours that another key of the configuration adds, and its place. */
  readonly added?: { readonly place: string; readonly tool: ToolDefinition } | undefined
  /** Tools of packages, which are loaded after all others. */
  readonly packaged?: readonly PackagedEntry[]
  /** Definitions that an entry can refer to by name. */
  readonly shipped?: ReadonlyMap<string, ToolDefinition>
}

export const LOADED_WITH_WARNING = 'Tool definition loaded with a warning'

/** Registers definitions. Invalid ones are skipped with a warning. */
export function loadDefinitions(definitions: readonly unknown[], options: LoadOptions): LoadReport {
  const places = new Map<string, string>()
  const [loaded, skipped, warnings]: [string[], LoadReport['skipped'][number][], LoadReport['warnings'][number][]] = [
    [],
    [],
    [],
  ]
  const registered: { tool: ToolDefinition; place: string; added: readonly string[] }[] = []
  const { added: extra, packaged = [] } = options
  const entries: PackagedEntry[] = definitions.map((given, index) => {
    const entry = boundedDefinition(given)
    const problem = entry instanceof RefusedDefinition ? entry.problem : undefined
    return { entry, place: placeOf(definitions, index), ...(problem !== undefined && { problem }) }
  })
  if (extra !== undefined) entries.push({ entry: extra.tool, place: extra.place })
  for (const { entry, place, problem: known } of [...entries, ...packaged]) {
    const written = typeof entry === 'string' ? (options.shipped?.get(entry) ?? entry) : entry
    const { definition, added, unreadable } = completed(written)
    const name = nameOf(definition) ?? place
    const version = versionOf(Object(definition))
    const problem = known ?? unreadable ?? problemOf(definition, options) ?? taken(name, version, place, places)
    if (problem !== undefined) {
      skipped.push({ name, problem })
      options.log.warn({ tool: name, place, problem }, 'Tool definition skipped')
      continue
    }
    const tool = definition as ToolDefinition
    options.registry.register(tool)
    places.set(`${name}@${version}`, place)
    loaded.push(name)
    registered.push({ tool, place, added })
  }
  // Tools may call those that are listed after them.
  for (const { tool, place, added } of registered) {
    for (const problem of [...added, ...warningsOf(tool, options)]) {
      warnings.push({ name: tool.name, problem })
      options.log.warn({ tool: tool.name, place, problem }, LOADED_WITH_WARNING)
    }
  }
  return { loaded, skipped, warnings }
}

interface Completed {
  readonly definition: unknown
  readonly added: readonly string[]
  /** Why the parameters aren't a schema. */
  readonly unreadable?: string
}

/** Converts the parameters, and adds a missing description and missing parameters. `added` says what a model sees instead. */
function completed(given: unknown): Completed {
  const name = nameOf(given)
  if (name === undefined) return { definition: given, added: [] }
  let written: unknown
  try {
    written = withJsonSchema(given as ToolDefinition)
  } catch (error) {
    return { definition: given, added: [], unreadable: (error as Error).message }
  }
  const { description, parameters, implementation } = written as Partial<ToolDefinition>
  const definition: Record<string, unknown> = { ...(written as object) }
  const added: string[] = []
  if (description === undefined) {
    definition.description = inWords(name)
    added.push(`It has no description: models see "${inWords(name)}". Say what the tool does and when to use it`)
  }
  if (parameters === undefined) {
    const { url, params_mapping } = Object(implementation) as { url?: unknown; params_mapping?: object }
    const required = [...foreignText(url ?? '').matchAll(/(?<!\$)\{(\w+)\}/g)].map(
      ([, parameter]) => parameter as string,
    )
    const names = [...new Set([...required, ...Object.keys(params_mapping ?? {})])]
    const properties = Object.fromEntries(names.map((one) => [one, { type: ['string', 'number', 'boolean'] }]))
    definition.parameters = { type: 'object', properties, required: [...new Set(required)] }
    added.push(`It has no parameters: it takes ${names.length > 0 ? names.join(', ') : 'none'}. Add a JSON Schema`)
  }
  return { definition, added }
}

/** `get_weather` → "Get weather". */
function inWords(name: string): string {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .trim()
    .toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function nameOf(definition: unknown): string | undefined {
  const name = (Object(definition) as { name?: unknown }).name
  return typeof name === 'string' && name.trim() !== '' ? name : undefined
}

function taken(name: string, version: string, place: string, places: ReadonlyMap<string, string>): string | undefined {
  const first = places.get(`${name}@${version}`)
  if (first === undefined) return undefined
  return `The name '${name}' at ${place} is already used by ${first}: rename one of them, or give it another version`
}

/** A definition that can't even be checked is skipped like any other: it must not stop the others. */
function problemOf(definition: unknown, options: LoadOptions): string | undefined {
  try {
    return foundProblem(definition, options)
  } catch (error) {
    return `It can't be read: ${(error as Error).message}`
  }
}

function foundProblem(definition: unknown, { env, kinds, shipped }: LoadOptions): string | undefined {
  if (typeof definition === 'string') return unknownName(definition, [...(shipped?.keys() ?? [])])
  if (includedFile(definition) !== undefined) {
    return 'An include works only in a configuration file: load it with loadConfigFile'
  }
  const { name, description, parameters } = Object(definition) as Partial<ToolDefinition>
  if (typeof name !== 'string' || typeof description !== 'string' || !name.trim() || !description.trim()) {
    return 'Tool must have name and description'
  }
  const wrongSchema = parametersProblem(parameters)
  if (wrongSchema !== undefined) return wrongSchema
  const schema = compileSchema(DEFINITION_SCHEMA)
  if (!schema.check?.(definition)) {
    return schema
      .explain(definition)
      .map((problem) => problem.message)
      .join(', ')
  }
  const tool = definition as ToolDefinition
  const wrongVersion = [tool.version ?? [], ...(tool.migrate?.map(({ from }) => from) ?? [])].flat().map(versionProblem)
  const wrong = wrongVersion.find((one) => one !== undefined)
  if (wrong !== undefined) return wrong
  const { mock_response: _, cases: __, ...rest } = tool.implementation
  const written = JSON.stringify(rest)
  if (hasSourced(written)) return SOURCED_ELSEWHERE
  const missing = unsetVariable(written, env)
  if (missing !== undefined) return missingVariable(missing, `: set it, or take \${${missing}} out of the definition`)
  const price = priceProblem(tool)
  if (price !== undefined) return price
  const approval = approvalFault(tool, true)
  if (approval !== undefined) return approval
  const kind = kindOf(tool, kinds)
  const unknown = unknownKeys({ ...tool }, definitionSchema(kind))
  if (unknown.length > 0) return unknown.join(', ')
  const shared = sharedFault(tool, kind)
  if (shared !== undefined) return shared
  // The registry says what is wrong with a schema. Nothing else reads such a schema: it may be as large as its file.
  return hasUsableSchema(tool) ? kind?.problem?.(tool) : undefined
}

function hasUsableSchema({ parameters }: ToolDefinition): boolean {
  checkAhead(parameters)
  try {
    guardParameters(parameters)
    return true
  } catch {
    return false
  }
}

function priceProblem(tool: ToolDefinition): string | undefined {
  try {
    bindCost(tool, (path) => new JsonPath(path))
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function unknownName(name: string, known: readonly string[]): string {
  const [near] = suggest(name, known)
  const hint = near === undefined ? `known tools are ${known.join(', ')}` : `did you mean '${near}'?`
  return `There is no shipped tool '${shortened(name)}': ${hint}`
}

function kindOf({ implementation }: ToolDefinition, kinds: LoadOptions['kinds']): Kind | undefined {
  return Object.hasOwn(kinds, implementation.type) ? kinds[implementation.type] : undefined
}

function warningsOf(tool: ToolDefinition, { kinds, canAsk = false, more = false }: LoadOptions): string[] {
  const kind = kindOf(tool, kinds)
  if (kind === undefined) return [`Unknown implementation type: ${tool.implementation.type}`]
  if (!hasUsableSchema(tool)) return []
  const fault = more && kind.callees !== undefined ? undefined : kind.fault?.(tool)
  const warnings = [canAsk ? undefined : approvalFault(tool, false), fault, kind.warning?.(tool)]
  if (tool.cache && (tool.effect ?? kind.effect(tool)) !== 'read') {
    warnings.push(`cache is ignored: tool '${tool.name}' is not a read tool; give it "effect": "read" if it is one`)
  }
  return warnings.filter((warning) => warning !== undefined)
}

/** The first `${NAME}` in the implementation that is not set. Mock responses are data and not in it. */
function unsetVariable(written: string, env: LoadOptions['env']): string | undefined {
  for (const [, name] of written.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g)) {
    if (name !== undefined && valueIn(env, name) === undefined) return name
  }
  return undefined
}

/** The known keys of a definition: a misspelled one, such as `permision`, must not open the tool. */
function definitionSchema(kind: Kind | undefined): object {
  const { properties } = DEFINITION_SCHEMA
  // Parameters are checked as a schema.
  const { returns } = properties.implementation.properties
  const implementation = kind?.schema && { ...kind.schema, properties: { ...kind.schema.properties, returns } }
  return { properties: { ...properties, parameters: {}, implementation: implementation ?? {} } }
}
