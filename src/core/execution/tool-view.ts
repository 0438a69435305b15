import { described, isRecord, nearest } from '../check-options.ts'
import type { Handler, IsolatedHandler } from '../handler.ts'
import {
  type ConvertSchema,
  jsonSchemaOf,
  type ReadSchema,
  type Refinement,
  readSchema,
} from '../schema/json-schema-of.ts'
import { shortened } from '../schema/problem-words.ts'
import type { Deprecation, ToolDefinition } from '../tool.ts'
import { ToolExecutionError } from '../tool-result.ts'

/** A LangChain tool. Structural, to work with any version of LangChain. */
export interface LangchainTool {
  readonly name?: string | undefined
  /** The name if `name` is missing, otherwise an alias. */
  readonly lc_name?: unknown
  readonly description?: string | undefined
  readonly schema: unknown
  /** `toolyard` holds further keys of a definition: `effect`, `timeout_ms`, `permissions` and so on. */
  readonly metadata?: unknown
  readonly responseFormat?: unknown
  /** Absent, unlike in a ToolDefinition. */
  readonly implementation?: undefined
  readonly parameters?: undefined
  invoke(args: never, options: never): unknown
}

export type RegisteredTool = ToolDefinition | LangchainTool

/** Symbols, because no file may set them. */
export const REFINEMENT: unique symbol = Symbol('refinement')
export const RESULT: unique symbol = Symbol('result')
export const PACKAGE: unique symbol = Symbol('package')
export const OPEN: unique symbol = Symbol('open')
export const WRAPPED: unique symbol = Symbol('wrapped')

/** A definition with the parts that JSON can't hold. */
export interface ToolView extends ToolDefinition {
  readonly source?: LangchainTool
  /** What LangChain calls the tool, if that isn't its name. */
  readonly lc_name?: string
  /** Of a tool in code, made by `tool()`. */
  readonly execute?: Handler | IsolatedHandler
  readonly [REFINEMENT]?: Refinement | undefined
  readonly [RESULT]?: ReadSchema | undefined
  readonly [PACKAGE]?: string | undefined
  /** The functions that `execute` calls, if it is one of ours. */
  readonly [WRAPPED]?: readonly ((...given: never) => unknown)[]
  /** Of a tool of ours that only reads what its caller may see: keys that are limited to some tools have it too. */
  readonly [OPEN]?: true
}

/** The package that a tool comes from. Such a tool gives way to all others of its name. */
export const packageOf = (tool: RegisteredTool | undefined): string | undefined =>
  (tool as ToolView | undefined)?.[PACKAGE]

/** The optional fields of a definition that every kind of tool has. */
export const FIELDS = [
  'effect',
  'timeout_ms',
  'permissions',
  'retry',
  'cache',
  'shared',
  'max_concurrency',
  'max_result_bytes',
  'rate_limit',
  'cost',
  'approval',
  'version',
  'deprecated',
  'migrate',
] as const satisfies readonly (keyof ToolDefinition)[]

const REQUIRED = ['name', 'description', 'parameters', 'implementation'] as const
/** Of older definitions, and of tools in code. */
const OTHERS = ['type', 'handler', 'input', 'execute'] as const

/** The keys of definitions and of tools in code. */
export const KEYS = Object.fromEntries([...REQUIRED, ...FIELDS, ...OTHERS].map((key) => [key, true] as const))

const UNVERSIONED = '0.0.0'
const SEMVER =
  /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:-([0-9A-Za-z.-]{1,64}))?(?:\+[0-9A-Za-z.-]{1,64})?$/
const NUMBER = /^\d{1,64}$/

export const versionOf = ({ version }: Pick<ToolDefinition, 'version'>): string => version ?? UNVERSIONED

/** How a version of a tool is called. */
export const pinnedName = (tool: Pick<ToolDefinition, 'name' | 'version'>): string => `${tool.name}@${versionOf(tool)}`

/** Whether a version comes before a release: `2.0.0-beta.1`. */
export const isPrerelease = (version: string): boolean => SEMVER.exec(version)?.[4] !== undefined

/** Why a text isn't a semantic version. */
export function versionProblem(version: unknown): string | undefined {
  const [, , , , before] = (typeof version === 'string' && SEMVER.exec(version)) || []
  const isSound = before === undefined || before.split('.').every((one) => one !== '' && !/^0\d/.test(one))
  if (typeof version === 'string' && SEMVER.test(version) && isSound) return undefined
  const shown = typeof version === 'string' ? JSON.stringify(version) : described(version)
  return `version ${shortened(shown)} isn't a semantic version: write one such as "1.2.0"`
}

/** The precedence of semantic versions: below 0 if the first is older. Builds of one version are ordered as texts. */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [SEMVER.exec(a) ?? [], SEMVER.exec(b) ?? []]
  for (const index of [1, 2, 3]) {
    const difference = Number(one[index] ?? 0) - Number(other[index] ?? 0)
    if (difference !== 0) return difference
  }
  const [before, after] = [one[4]?.split('.'), other[4]?.split('.')]
  if (before === undefined || after === undefined) {
    return before === after ? compareTexts(a, b) : before === undefined ? 1 : -1
  }
  for (const [index, part] of before.entries()) {
    const against = after[index]
    if (against === undefined) return 1
    const difference = comparePrereleases(part, against)
    if (difference !== 0) return difference
  }
  return before.length - after.length || compareTexts(a, b)
}

function comparePrereleases(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [NUMBER.test(a), NUMBER.test(b)]
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  return isNumber ? a.length - b.length || compareTexts(a, b) : compareTexts(a, b)
}

const compareTexts = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)

const NO_SCHEMA = Object.freeze({})

let versions = 0

/** The definition of a tool, unchecked. LangChain tools are converted. */
export function toolView(tool: RegisteredTool, convert?: ConvertSchema): ToolDefinition {
  if (!isLangchainTool(tool)) return withJsonSchema(tool)
  const name = isText(tool.name) ? tool.name : (langchainName(tool) ?? '')
  const { toolyard } = Object(tool.metadata) as { toolyard?: object }
  const unknown = Object.keys(toolyard ?? {}).find((key) => !FIELDS.some((known) => known === key))
  // A misspelled `permissions` must not open the tool.
  if (unknown !== undefined) {
    throw new TypeError(`metadata.toolyard has an unknown key "${unknown}": known are ${FIELDS.join(', ')}`)
  }
  const alias = langchainName(tool)
  const view: ToolView = {
    ...toolyard,
    name,
    ...(alias !== undefined && alias !== name && { lc_name: alias }),
    description: isAdapted(tool) && !isText(tool.description) ? `The tool ${name}.` : (tool.description ?? ''),
    parameters: jsonSchemaOf(tool.schema, convert) ?? NO_SCHEMA,
    implementation: { type: 'langchain', view: codeVersion() },
    source: tool,
  }
  return view
}

/** Converts a schema of a validation library in `parameters`. */
export function withJsonSchema(tool: ToolDefinition): ToolDefinition {
  const { parameters } = Object(tool) as Partial<ToolDefinition>
  if ((Object(parameters) as { '~standard'?: unknown })['~standard'] === undefined) return tool
  const { schema, refinement } = readSchema(parameters)
  return { ...tool, parameters: schema, ...(refinement && { [REFINEMENT]: refinement }) } as ToolView
}

export const viewOf = (tool: ToolDefinition): ToolView => tool

/** Tells tools apart that differ only in code. */
export const codeVersion = (): number => ++versions

/** The LangChain tool behind a definition, if there is one. */
export function sourceOf(tool: ToolDefinition): LangchainTool | undefined {
  const { source } = tool as Partial<ToolView>
  return typeof source?.invoke === 'function' ? source : undefined
}

export function langchainName(tool: object): string | undefined {
  const name = 'lc_name' in tool ? tool.lc_name : undefined
  return isText(name) ? name : undefined
}

/**
 * Whether `@langchain/mcp-adapters` created the tool. Only its tools combine server annotations in `metadata`, content
 * with artifacts, and plain JSON Schema.
 */
export function isAdapted({ metadata, responseFormat, schema }: LangchainTool): boolean {
  if (responseFormat !== 'content_and_artifact') return false
  return Object.hasOwn(Object(metadata), 'annotations') && !('~standard' in Object(schema))
}

export const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

function isLangchainTool(tool: RegisteredTool): tool is LangchainTool {
  const { implementation, invoke } = Object(tool) as Partial<ToolDefinition & LangchainTool>
  return implementation === undefined && typeof invoke === 'function'
}

const isTextIfGiven = (value: unknown): boolean => value === undefined || isText(value)

/** What is wrong with the version of a tool, or with what deprecates or migrates it. */
function lifeProblem({ version, deprecated, migrate = [] }: ToolDefinition): string | undefined {
  if (version !== undefined && versionProblem(version) !== undefined) return versionProblem(version)
  if (deprecated !== undefined) {
    const isSound = isRecord(deprecated) && Object.values(deprecated).every(isTextIfGiven)
    if (!isSound) return 'deprecated must be an object of texts, such as {since, remove_after, message, use}'
    const unknown = Object.keys(deprecated).find((key) => !DEPRECATION.includes(key))
    if (unknown !== undefined) return `deprecated has an unknown key "${unknown}". ${nearest(unknown, DEPRECATION)}`
  }
  const list: unknown = migrate
  const isList = Array.isArray(list) && Array.from(list).every(isRecord)
  if (!isList) return 'migrate must be a list of objects, such as [{from: "1.0.0", rename: {old: "new"}}]'
  for (const { from, rename, defaults, drop } of migrate) {
    const problem = versionProblem(from)
    if (problem !== undefined) return `migrate: ${problem}`
    const isSound =
      (rename === undefined || (isRecord(rename) && Object.values(rename).every(isText))) &&
      (defaults === undefined || isRecord(defaults)) &&
      (drop === undefined || (Array.isArray(drop) && Array.from(drop).every(isText)))
    if (!isSound) return `migrate from ${from} must have rename and defaults as objects, and drop as a list of names`
  }
  return undefined
}

const DEPRECATION: readonly string[] = ['since', 'remove_after', 'message', 'use'] satisfies (keyof Deprecation)[]

/** What every call of a deprecated tool says. Throws if the version, or what deprecates or migrates it, is invalid. */
export function deprecation(tool: ToolDefinition, version: string | undefined): string | undefined {
  const { name, deprecated } = tool
  const wrong = lifeProblem(tool)
  if (wrong !== undefined) throw new ToolExecutionError('EXECUTION_ERROR', `Tool '${name}': ${wrong}`)
  if (deprecated === undefined) return undefined
  const { since, remove_after, message, use } = deprecated
  const parts = [
    `Tool '${name}'${version === undefined ? '' : ` ${version}`} is deprecated${since === undefined ? '' : ` since ${since}`}`,
    ...(use === undefined ? [] : [`Use ${use} instead`]),
    ...(remove_after === undefined ? [] : [`It will be removed after ${remove_after}`]),
    ...(message === undefined ? [] : [message]),
  ]
  return parts.join('. ')
}

interface AppliedMigration {
  readonly from: string
  readonly rename: Readonly<Record<string, string>>
  readonly defaults: Readonly<Record<string, unknown>>
  /** Applies only to parameters that have one of these names. Empty if it applies to all. */
  readonly old: readonly string[]
}

/**
 * The migrations that can change parameters, the oldest first. One applies if the parameters have one of its old names that the
 * schema doesn't declare, or if it has only defaults.
 */
export function migrationsOf({ migrate = [], parameters }: Pick<ToolDefinition, 'migrate' | 'parameters'>) {
  const declared = Object(parameters.properties) as object
  const steps = [...migrate].sort((a, b) => compareVersions(a.from, b.from))
  return steps.flatMap(({ from, rename = {}, defaults = {}, drop = [] }): AppliedMigration[] => {
    const named = [...Object.keys(rename), ...drop]
    const old = named.filter((one) => !Object.hasOwn(declared, one))
    const isUseless = named.length > 0 ? old.length === 0 : Object.keys(defaults).length === 0
    return isUseless ? [] : [{ from, rename, defaults, old }]
  })
}
