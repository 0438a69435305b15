import { extname } from 'node:path'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { IsolatedHandler } from '../handler.ts'
import { setOwn } from '../json/json-type.ts'
import type { CompiledSchema, Explained } from '../schema/compiled-schema.ts'
import { firstProblems, listedProblems, pathText, type ValuePath } from '../schema/explanation.ts'
import { guardParameters } from '../schema/guard-schema.ts'
import type { ReadSchema, Refinement } from '../schema/json-schema-of.ts'
import { quoted } from '../schema/problem-words.ts'
import { compile, isInline, isInlineFor } from '../schema/schema-compiler.ts'
import { isObject, withoutSlowPatterns } from '../schema/schema-keywords.ts'
import { REFUSED, SchemaReferences } from '../schema/schema-references.ts'
import { type ParamsSnapshot, snapshotParams } from '../snapshot.ts'
import { suggest } from '../suggest.ts'
import type { JsonSchema, Params } from '../tool.ts'
import { type RequiredParameter, ToolExecutionError } from '../tool-result.ts'
import type { BoundTool } from './bound-tool.ts'
import type { Call } from './call.ts'
import type { Runner } from './runner.ts'
import type { CallHook, MaybePromise, Stages } from './stages.ts'
import type { ToolRegistry } from './tool-registry.ts'
import { migrationsOf } from './tool-view.ts'

/** The exact validator runs in a child process: this process never loads it. */
export const EXACT_CHECK: IsolatedHandler = {
  module: new URL(`../schema/exact-check${extname(import.meta.filename)}`, import.meta.url).href,
  export: 'exactCheck',
}

export class ParameterCheck implements CallHook<BoundTool> {
  readonly #registry: ToolRegistry
  readonly #runner: Runner

  constructor(registry: ToolRegistry, runner: Runner) {
    this.#registry = registry
    this.#runner = runner
  }

  /** The compiled schema. Marks the tool as broken if the schema is invalid. */
  compiled(tool: BoundTool): CompiledSchema {
    try {
      return tool.compiled
    } catch (error) {
      throw this.#broken(tool, error)
    }
  }

  /** Copies the parameters and fills in defaults. */
  read(call: Call, tool: BoundTool, params: unknown): ParamsSnapshot {
    const { fillDefaults, unusual } = this.compiled(tool)
    const snapshot = snapshotParams(params, unusual)
    if (tool.rename !== undefined) snapshot.params = tool.rename(snapshot.params)
    if (tool.definition.migrate !== undefined) migrate(call, tool, snapshot)
    if (fillDefaults !== undefined && tool.refinement?.fillsDefaults !== true) {
      const filled = fillDefaults(snapshot.params)
      snapshot.nodes += filled
      snapshot.characters += filled
      // A default may be an object.
      snapshot.flat = false
    }
    call.snapshot = snapshot
    return snapshot
  }

  /** Reads parameters. Throws if they are invalid. Returns a promise only if the check needs one. */
  check(call: Call, tool: BoundTool, params: unknown): Promise<void> | undefined {
    const snapshot = this.read(call, tool, params)
    const problems = this.problems(call, tool, snapshot)
    if (problems instanceof Promise) return problems.then((all) => refuse(tool, all, snapshot.params))
    refuse(tool, problems, snapshot.params)
    return undefined
  }

  /** First the JSON Schema, then the rules that only the schema's own library knows. */
  problems(call: Call, tool: BoundTool, snapshot: ParamsSnapshot): MaybePromise<readonly Explained[]> {
    const { compiled, refinement } = tool
    const { params } = snapshot
    if (!isInline(compiled, snapshot)) {
      const checked = this.#checkInChild(call, tool, tool.definition.parameters, params)
      if (refinement === undefined) return checked
      return checked.then((problems) => (problems.length > 0 ? problems : this.#refine(call, tool, refinement)))
    }
    if (!compiled.check(params)) return compiled.explain(params)
    return refinement === undefined ? NO_PROBLEMS : this.#refine(call, tool, refinement)
  }

  readonly stages = (tool: BoundTool): Stages =>
    tool.hasResult ? { check: (call, result) => this.#checkResult(call, tool, result) } : {}

  /** Throws if the result doesn't fit the schema that the tool has for results. */
  async #checkResult(call: Call, tool: BoundTool, result: unknown): Promise<undefined> {
    const { schema, compiled, refinement } = tool.result as NonNullable<BoundTool['result']>
    let problems = NO_PROBLEMS
    if (!isInlineFor(compiled, result)) problems = await this.#checkInChild(call, tool, schema, result)
    else if (!compiled.check(result)) problems = compiled.explain(result)
    if (problems.length === 0 && refinement !== undefined) {
      problems = issuesOf(await this.#ask(call, tool, refinement, structuredClone(result)), tool)
    }
    if (problems.length === 0) return
    const sentence = problems.map(({ message }) => message.replace(/^parameters /, 'the result ')).join(', ')
    const message = `Tool '${tool.name}' returned an invalid result: ${sentence}`
    throw new ToolExecutionError('EXECUTION_ERROR', message, { outcome: 'unknown' })
  }

  /** Its output is what the handler gets. */
  #refine(call: Call, tool: BoundTool, refinement: Refinement): MaybePromise<readonly Explained[]> {
    const result = this.#ask(call, tool, refinement, call.copyParams())
    return result instanceof Promise ? result.then((later) => accept(call, tool, later)) : accept(call, tool, result)
  }

  /** Asynchronous rules are bounded by the deadline of the call. */
  #ask(call: Call, tool: BoundTool, { validate }: Refinement, value: unknown): MaybePromise<RefineResult> {
    const result = validate(value)
    if ((result as { then?: unknown } | undefined)?.then === undefined) return result as RefineResult
    return this.#runner.runCheck(call, tool, Promise.resolve(result), {}) as Promise<RefineResult>
  }

  async #checkInChild(call: Call, tool: BoundTool, schema: JsonSchema, params: unknown): Promise<readonly Explained[]> {
    try {
      return (await this.#runner.runCheck(call, tool, EXACT_CHECK, { schema, params })) as readonly Explained[]
    } catch (error) {
      throw error instanceof Error && 'code' in error && error.code === REFUSED ? this.#broken(tool, error) : error
    }
  }

  #broken(tool: BoundTool, error: unknown): ToolExecutionError {
    const reason = error instanceof Error ? error.message : String(error)
    // Another tool may have this name by now.
    const holder = this.#registry.at(tool.definition)
    if (holder && this.#registry.definitionOf(holder) === tool.definition) {
      this.#registry.markBroken(tool.definition, reason)
    }
    return new ToolExecutionError('EXECUTION_ERROR', `Tool '${tool.name}' has an invalid schema: ${reason}`)
  }
}

/** Brings parameters of older versions into the form of this one. */
function migrate(call: Call, { name, definition }: BoundTool, snapshot: ParamsSnapshot): void {
  for (const { from, rename, defaults, old } of migrationsOf(definition)) {
    const sent = old.filter((one) => Object.hasOwn(snapshot.params, one))
    if (old.length > 0 && sent.length === 0) continue
    const params = { ...snapshot.params }
    for (const one of sent) {
      const renamed = Object.hasOwn(rename, one) ? rename[one] : undefined
      if (renamed !== undefined && !Object.hasOwn(params, renamed)) setOwn(params, renamed, params[one])
      delete params[one]
    }
    for (const [key, value] of Object.entries(defaults)) {
      if (Object.hasOwn(params, key)) continue
      setOwn(params, key, structuredClone(value))
      snapshot.nodes++
      snapshot.characters += JSON.stringify(value).length
      // A default may be an object.
      snapshot.flat = false
    }
    snapshot.params = params
    if (sent.length > 0) {
      const to = definition.version === undefined ? '' : ` to ${definition.version}`
      call.warn(`The parameters ${sent.join(', ')} of tool '${name}' were migrated from version ${from}${to}`)
    }
  }
}

type RefineResult = StandardSchemaV1.Result<unknown>

const NO_PROBLEMS: readonly Explained[] = Object.freeze([])
const NO_REASON = { message: 'the value does not match its schema' }
const MAX_ISSUE_LENGTH = 300

function accept(call: Call, tool: BoundTool, result: RefineResult): readonly Explained[] {
  const problems = issuesOf(result, tool)
  if (problems === NO_PROBLEMS) call.refined = result as StandardSchemaV1.SuccessResult<unknown>
  return problems
}

function issuesOf(result: RefineResult | undefined, tool?: BoundTool): readonly Explained[] {
  const issues = result?.issues
  if (issues) return issues.length > 0 ? firstProblems(issues.map(explained)) : [explained(NO_REASON)]
  if (typeof result === 'object' && result !== null && 'value' in result) return NO_PROBLEMS
  const owner = tool === undefined ? 'the output' : `tool '${tool.name}'`
  const message = `The schema of ${owner} did not say whether the value matches`
  throw new ToolExecutionError('EXECUTION_ERROR', message)
}

/** An issue of a schema library, in the words of the envelope. */
function explained({ message, path = [] }: StandardSchemaV1.Issue): Explained {
  let at: ValuePath | undefined
  for (const part of path) {
    const step = typeof part === 'object' ? part.key : part
    at = { parent: at, step: typeof step === 'symbol' ? String(step) : step }
  }
  const text = String(message).replaceAll(/\s+/g, ' ').slice(0, MAX_ISSUE_LENGTH)
  const place = pathText(at)
  return { path: place, rule: 'refine', expected: text, message: at === undefined ? text : `${place}: ${text}` }
}

/**
 * The problems of an object that a model wrote as its answer, and the value that the schema's library makes of it. Checked
 * in this process only: schemas and objects that would take too long throw.
 */
export function objectProblems(
  { schema, refinement }: ReadSchema,
  given: object,
): MaybePromise<{ readonly problems: readonly string[]; readonly value: unknown }> {
  guardParameters(schema)
  // A library adds a pattern to a format, such as that of emails, which only a child process could check.
  const compiled = compile(
    withoutSlowPatterns(schema, ({ format }) => refinement !== undefined || PATTERNED.has(format)),
  )
  const snapshot = snapshotParams(given, compiled.unusual)
  const value = snapshot.params
  if (!isInline(compiled, snapshot)) {
    const problem = compiled.check === undefined && compiled.unusual.has('__proto__') ? HAS_PROTO : TOO_EXPENSIVE
    throw new ToolExecutionError('EXECUTION_ERROR', problem)
  }
  const messages = (problems: readonly Explained[]) => problems.map(({ message }) => message)
  if (!compiled.check(value)) return { problems: messages(compiled.explain(value)), value }
  if (refinement === undefined) return { problems: [], value }
  const accept = (result: RefineResult) => ({
    problems: messages(issuesOf(result)),
    value: result.issues ? value : result.value,
  })
  const result = refinement.validate(value)
  return result instanceof Promise ? result.then(accept) : accept(result)
}

/** The formats that are checked, and that libraries describe with a pattern, too. */
const PATTERNED: ReadonlySet<unknown> = new Set([
  ...['email', 'date', 'time', 'date-time', 'duration', 'hostname', 'ipv4', 'ipv6', 'uri', 'uuid'],
])

const HAS_PROTO = 'the schema has a property "__proto__", which can\'t be checked here: rename it'

const TOO_EXPENSIVE =
  'the schema is too expensive to check: use simpler patterns, and fewer nested alternatives and references'

/** Throws if there are problems. */
function refuse({ definition }: BoundTool, problems: readonly Explained[], params: Params): void {
  if (problems.length === 0) return
  const details = {
    ...listedProblems(problems),
    required: requiredParameters(definition.parameters),
  }
  const sentence = problems.map((problem) => problem.message).join(', ')
  const message = `Invalid parameters: ${sentence}${misspelled(definition.parameters, params)}`
  throw new ToolExecutionError('INVALID_PARAMETERS', message, { details })
}

const MAX_COMPARED = 20

/** Names a declared parameter that is close to one that isn't. */
function misspelled(schema: JsonSchema, params: Params): string {
  const known = Object.keys(isObject(schema.properties) ? schema.properties : {})
  if (known.length === 0) return ''
  const missing = known.filter((name) => !Object.hasOwn(params, name)).slice(0, MAX_COMPARED)
  const unknown = Object.keys(params).filter((name) => !known.includes(name))
  for (const name of unknown.slice(0, MAX_COMPARED)) {
    const [near] = suggest(name, missing)
    if (near !== undefined) return `. Did you mean ${quoted(near)} instead of ${quoted(name)}?`
  }
  return ''
}

/** The parameters that the schema requires at the top level. */
export function requiredParameters(schema: JsonSchema): RequiredParameter[] {
  const references = new SchemaReferences(schema)
  const root = follow(schema, references)
  const required = Array.isArray(root.required) ? root.required : []
  const properties = isObject(root.properties) ? root.properties : {}
  return [...new Set(required)]
    .filter((name) => typeof name === 'string')
    .map((name) => {
      const written = Object.hasOwn(properties, name) ? properties[name] : undefined
      const property = follow(written, references)
      const description =
        isObject(written) && typeof written.description === 'string' ? written.description : property.description
      return { name, type: typeText(property), description: typeof description === 'string' ? description : '' }
    })
}

/** Follows a schema that is only a reference. */
function follow(schema: unknown, references: SchemaReferences): Record<string, unknown> {
  let at = schema
  for (let hops = 0; hops < 16 && isObject(at) && at.$ref !== undefined; hops++) {
    if (at.type !== undefined || at.properties !== undefined) break
    at = references.target(at, at.$ref)
  }
  return isObject(at) ? at : {}
}

function typeText(schema: Record<string, unknown>): string {
  if (typeof schema.type === 'string') return schema.type
  if (Array.isArray(schema.type)) return schema.type.join(' | ')
  const branches = Array.isArray(schema.anyOf) ? schema.anyOf : Array.isArray(schema.oneOf) ? schema.oneOf : []
  const types = new Set(branches.map((branch) => (isObject(branch) ? typeText(branch) : 'any')))
  if (types.size > 0) return types.has('any') ? 'any' : [...types].join(' | ')
  const values = Array.isArray(schema.enum) ? schema.enum : Object.hasOwn(schema, 'const') ? [schema.const] : []
  const kinds = new Set(
    values.map((value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)),
  )
  return kinds.size === 0 ? 'any' : [...kinds].join(' | ')
}
