import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { matchesGlobs } from '../../core/execution/permit.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { pinnedName, RESULT, viewOf } from '../../core/execution/tool-view.ts'
import type { Handler, HandlerContext, Identity, Isolate, IsolatedTask, Kind } from '../../core/handler.ts'
import type { Described } from '../../core/json/described.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { SchemaReferences } from '../../core/schema/schema-references.ts'
import type { Effect, ToolDefinition } from '../../core/tool.ts'
import { type StepReport, ToolExecutionError, type ToolFailure, type ToolResult } from '../../core/tool-result.ts'
import { CallSlots } from './callees.ts'
import type { CodeWaits } from './code-sandbox.ts'

const CODE_MODE = 'code_mode'
const RUN_CODE = 'run_code'
const MODULE = new URL(`./code-sandbox${extname(import.meta.filename)}`, import.meta.url).href
const MAX_SOURCE_BYTES = 65_536
const MAX_IN_FLIGHT = 32
const MAX_TOOL_NAME = 64

/** The key `tools.code_mode`. */
export const CODE_MODE_SCHEMA = {
  type: 'object',
  description: 'The tool run_code: models call tools in code that runs in a sandbox. Needs the package run.',
  additionalProperties: false,
  properties: {
    enabled: { type: 'boolean', description: 'Only true adds run_code.' },
    tools: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description: 'Patterns of the tools that code may call, such as "orders_*". Default: all.',
    },
    timeout_ms: {
      type: 'integer',
      minimum: 1,
      maximum: 600_000,
      description: 'How long a run may take, with its calls. Default: 30000.',
    },
    memory_mb: {
      type: 'integer',
      minimum: 8,
      maximum: 1_024,
      description: 'The memory of a run. Default: 64.',
    },
    max_calls: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000,
      description: 'The maximum number of calls of tools in a run. Default: 50.',
    },
  },
} as const

export interface CodeModeSettings extends Described<typeof CODE_MODE_SCHEMA> {}

export const CODE_MODE_DEFAULTS = { tools: ['*'], timeout_ms: 30_000, memory_mb: 64, max_calls: 50 } as const

type Limits = Required<Omit<CodeModeSettings, 'enabled'>>

interface CodeModeParts {
  readonly registry: ToolRegistry
  /** Runs the sandbox. Its processes may start worker threads. */
  readonly isolate: Isolate
  effectOf(name: string): Effect | undefined
}

/** The tool that runs code of the model, which calls other tools. */
export class CodeModeKind implements Kind {
  readonly schema = { properties: { type: { const: CODE_MODE } } }
  readonly neverPrinted = true
  readonly runsProgram = false
  readonly #limits: Limits
  readonly #parts: CodeModeParts
  #isAsked = false

  constructor(settings: CodeModeSettings, parts: CodeModeParts) {
    this.#limits = { ...CODE_MODE_DEFAULTS, ...settings }
    this.#parts = parts
  }

  get definition(): ToolDefinition {
    const code = { type: 'string', maxLength: MAX_SOURCE_BYTES, description: 'The body of an async function.' }
    return {
      name: RUN_CODE,
      description: this.#introduction(),
      parameters: { type: 'object', properties: { code }, required: ['code'], additionalProperties: false },
      implementation: { type: CODE_MODE },
      timeout_ms: this.#limits.timeout_ms,
    }
  }

  /**
   * `write`, unless all its tools are `read` and none waits for approval, because a run that waits needs stored results.
   * A tool that calls this one back asks while it is asked.
   */
  effect(): Effect {
    if (this.#isAsked) return 'write'
    this.#isAsked = true
    try {
      const callable = this.#parts.registry.definitions().filter((tool) => this.#isOffered(tool))
      return callable.every((tool) => this.#isRead(tool)) ? 'read' : 'write'
    } finally {
      this.#isAsked = false
    }
  }

  problem({ name }: ToolDefinition): string | undefined {
    return name === RUN_CODE ? undefined : `Only '${RUN_CODE}' runs code: set tools.code_mode instead`
  }

  fault(): string | undefined {
    return isInstalled() ? undefined : 'Code mode needs the package run: npm install run'
  }

  identity(): Identity {
    return { implementation: this.#limits }
  }

  callees(): readonly string[] {
    return this.#tools().map(({ name }) => name)
  }

  describe(_tool: ToolDefinition, usable: readonly ToolDefinition[]): string {
    return `${this.#introduction()}\n\n${declarations(usable)}`
  }

  /** Starts a process, so that the first run finds it ready. */
  warm(): void {
    if (isInstalled()) this.#parts.isolate.warm?.(MODULE)
  }

  bind(tool: ToolDefinition): ReturnType<Kind['bind']> {
    const handler: Handler = async ({ code }, context) => {
      if (context.callers?.includes(tool.name)) {
        throw new ToolExecutionError(
          'EXECUTION_ERROR',
          `Code can't run code: '${tool.name}' was called by its own code`,
        )
      }
      const bytes = Buffer.byteLength(String(code))
      if (bytes > MAX_SOURCE_BYTES) {
        const message = `The code has ${bytes} bytes, and at most ${MAX_SOURCE_BYTES} are allowed`
        throw new ToolExecutionError('INVALID_PARAMETERS', message)
      }
      const run = new CodeRun(tool.name, context, this.#limits.max_calls, (name) => this.#mayCall(name))
      context.onFailure?.(() => ({ steps: run.steps }))
      const { timeout_ms = 0, memory_mb } = { ...this.#limits, timeout_ms: context.timeoutMs }
      return run.result(this.#parts.isolate, { code, memory_mb, timeout_ms: Math.ceil(timeout_ms) })
    }
    return () => {
      const fault = this.fault()
      if (fault !== undefined) throw new ToolExecutionError('EXECUTION_ERROR', fault)
      return handler
    }
  }

  #introduction(): string {
    const { timeout_ms, max_calls } = this.#limits
    return [
      'Runs JavaScript or TypeScript that calls tools, and returns what it returns. Use it for several calls, loops and',
      'calculations: only the result comes back. The code is the body of an async function: `return` a JSON value, and',
      '`await` every call, as in `const order = await tools.get_order({ id: 7 })`. Independent calls may run in parallel',
      'with Promise.all. A failed call throws an Error with `code` and `message`. The output of console.log is returned',
      `too. Limits: ${max_calls} calls, ${timeout_ms / 1_000} s, 64 KB of output. There are no`,
      'imports, timers, files or network.',
    ].join(' ')
  }

  #tools(): readonly ToolDefinition[] {
    return this.#parts.registry.offered().filter((tool) => this.#isOffered(tool))
  }

  /** Callers may get any version. */
  #isRead({ name }: ToolDefinition): boolean {
    const { registry, effectOf } = this.#parts
    return registry
      .versionsOf(name)
      .every((tool) => (tool.approval ?? false) === false && effectOf(pinnedName(tool)) === 'read')
  }

  #isOffered({ name, implementation }: ToolDefinition): boolean {
    return implementation.type !== CODE_MODE && matchesGlobs(this.#limits.tools, name)
  }

  /**
   * By its name only: a model doesn't choose the version, of which an older one may need no approval. The executor knows
   * what to say about an unknown tool.
   */
  #mayCall(name: string): boolean {
    const { registry } = this.#parts
    const tool = registry.find(name)
    const definition = tool && registry.definitionOf(tool)
    return definition === undefined || (definition.name === name && this.#isOffered(definition))
  }
}

function isInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve('run')
    return true
  } catch {
    return false
  }
}

/** What the code has done when it waits for approval. */
interface Note {
  readonly token: string | undefined
  readonly steps: readonly StepReport[]
  readonly repeats: Readonly<Record<string, number>>
}

const noteOf = ({ progress }: HandlerContext): Partial<Note> => (progress?.note as Note | undefined) ?? {}

/** One run of code. Its calls are those of the caller, in the parent process. */
class CodeRun {
  readonly #tool: string
  readonly #context: HandlerContext
  readonly #maxCalls: number
  readonly #mayCall: (name: string) => boolean
  readonly #steps: StepReport[]
  readonly #running = new Set<Promise<unknown>>()
  readonly #slots = new CallSlots(MAX_IN_FLIGHT)
  readonly #abort = new AbortController()
  /** The first call that needs approval. */
  #waits: ToolFailure | undefined
  /** How often the same call was made: together they identify it if the run is repeated. */
  readonly #repeats: Map<string, number>

  constructor(tool: string, context: HandlerContext, maxCalls: number, mayCall: (name: string) => boolean) {
    this.#tool = tool
    this.#context = context
    this.#maxCalls = maxCalls
    this.#mayCall = mayCall
    const { steps = [], repeats = {} } = noteOf(context)
    this.#steps = [...steps]
    this.#repeats = new Map(Object.entries(repeats))
  }

  get steps(): readonly StepReport[] {
    return [...this.#steps]
  }

  async result(isolate: Isolate, params: object): Promise<unknown> {
    const { tenant, flags, log, signal } = this.#context
    const task: IsolatedTask = {
      ...{ tool: this.#tool, module: MODULE, export: 'runCode', tenant, flags, log, started: false },
      params: { ...params, token: noteOf(this.#context).token },
      report: () => {},
      call: (name, input) => this.#call(name, input),
    }
    try {
      const value = await isolate.run(task, AbortSignal.any([signal, this.#abort.signal]))
      if (this.#waits !== undefined) throw this.#paused(this.#waits, (Object(value) as Partial<CodeWaits>).token)
      return value
    } catch (error) {
      await this.#end()
      throw this.#failure(error)
    } finally {
      await this.#end()
    }
  }

  /** Cancels the calls that nobody waits for. */
  async #end(): Promise<void> {
    this.#abort.abort()
    await Promise.allSettled(this.#running)
  }

  /** A write whose outcome isn't known makes that of the run unknown. */
  #failure(error: unknown): unknown {
    const isUnknown = this.#steps.some(({ outcome }) => outcome !== undefined)
    if (!isUnknown || (error instanceof ToolExecutionError && error.extras.outcome !== undefined)) return error
    const { code, extras } =
      error instanceof ToolExecutionError ? error : { code: 'EXECUTION_ERROR' as const, extras: {} }
    return new ToolExecutionError(code, (error as Error).message, { ...extras, outcome: 'unknown' }, { cause: error })
  }

  #call(name: string, params: unknown): Promise<ToolResult> {
    const index = this.#steps.length
    if (index >= this.#maxCalls) {
      return refused(name, 'RATE_LIMITED', `The code may make at most ${this.#maxCalls} calls`)
    }
    // Nothing else must happen until a person has decided.
    if (this.#waits !== undefined) return refused(name, 'APPROVAL_REQUIRED', this.#waits.error)
    if (!this.#mayCall(name)) return refused(name, 'TOOL_NOT_FOUND', `Tool '${name}' is not available to code`)
    this.#steps.push({ id: String(index + 1), tool: name.slice(0, MAX_TOOL_NAME), status: 'not_run' })
    const running = this.#slots.run(() => this.#made(index, name, params))
    this.#running.add(running)
    return running.finally(() => this.#running.delete(running))
  }

  async #made(index: number, name: string, params: unknown): Promise<ToolResult> {
    if (this.#abort.signal.aborted) return refused(name, 'CANCELLED', 'The code has ended')
    if (this.#waits !== undefined) return refused(name, 'APPROVAL_REQUIRED', this.#waits.error)
    this.#report(index, { status: 'running' })
    const call = hash('sha256', `${name} ${JSON.stringify(params)}`)
    const repeat = this.#repeats.get(call) ?? 0
    this.#repeats.set(call, repeat + 1)
    const options = { step: `${repeat} ${call}`, signal: this.#abort.signal }
    const result = await (this.#context.call?.(name, params, options) ??
      refused(name, 'EXECUTION_ERROR', "Tools can't be called here"))
    if (result.success) this.#report(index, { status: 'done' })
    else this.#failed(index, result)
    if (result.success || result.error_code !== 'APPROVAL_REQUIRED') return result
    this.#waits ??= result
    // It is made again when the code continues.
    this.#repeats.set(call, repeat)
    return result
  }

  #failed(index: number, { error, error_code, outcome }: ToolFailure): void {
    const status = error_code === 'CANCELLED' ? 'cancelled' : 'failed'
    this.#report(index, { status, error, error_code, ...(outcome && { outcome }) })
  }

  /** The calls that have ended are not made again when the code continues. */
  #paused({ error, details }: ToolFailure, token: string | undefined): ToolExecutionError {
    const { steps } = this
    const ended = steps.filter(({ status, error_code }) => status !== 'not_run' && error_code !== 'APPROVAL_REQUIRED')
    const note: Note = { token, steps: ended, repeats: Object.fromEntries(this.#repeats) }
    if (this.#context.progress !== undefined) this.#context.progress.note = note
    const approval = details?.approval && { approval: details.approval }
    return new ToolExecutionError('APPROVAL_REQUIRED', `The code waits: ${error}`, { details: { ...approval, steps } })
  }

  #report(index: number, state: Omit<StepReport, 'id' | 'tool'>): void {
    const { id, tool } = this.#steps[index] as StepReport
    this.#steps[index] = { id, tool, ...state }
    const { status } = state
    this.#context.report({ step: id, tool, status, message: `Call ${id}, ${tool}: ${status}` })
  }
}

const refused = async (name: string, code: ToolFailure['error_code'], error: string): Promise<ToolFailure> => ({
  ...{ success: false, error, error_code: code, tool_name: name, execution_time_ms: 0 },
})

/** Tools that don't fit are listed by name. */
const MAX_CHARACTERS = 16_384
const MAX_NAMES_CHARACTERS = 4_096
const MAX_DESCRIPTION = 300
const MAX_NOTE = 120
const MAX_DEPTH = 6
/** A schema that refers to itself has many more types than it has lines: a tool with more is listed by name. */
const MAX_TYPES = 2_000
const MAX_LITERALS = 20
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/

class TooManyTypes extends Error {}

/** Every list of tools needs them. */
const known = new WeakMap<ToolDefinition, string>()

/** TypeScript declarations of tools, made from their schemas. */
export function declarations(tools: readonly ToolDefinition[]): string {
  const lines: string[] = []
  const others: string[] = []
  let room = MAX_CHARACTERS
  for (const tool of tools) {
    const line = known.get(tool) ?? declaration(tool)
    known.set(tool, line)
    if (line === '' || line.length > room) others.push(keyOf(tool.name))
    else {
      lines.push(line)
      room -= line.length + 1
    }
  }
  return ['declare const tools: {', ...lines, ...namesOf(others), '}'].join('\n')
}

/** `tools["a-b"]`, but `tools.a_b`. */
const keyOf = (name: string): string => (IDENTIFIER.test(name) ? name : JSON.stringify(name))

/** Empty if the tool has too many types. */
function declaration(tool: ToolDefinition): string {
  const { name, description, parameters } = tool
  const result = viewOf(tool)[RESULT]?.schema
  const { required = [] } = parameters as { required?: readonly string[] }
  try {
    const params = `params${required.length === 0 ? '?' : ''}: ${new Types(parameters).of(parameters)}`
    const returned = result === undefined ? 'unknown' : new Types(result).of(result)
    return `  /** ${comment(description, MAX_DESCRIPTION)} */\n  ${keyOf(name)}(${params}): Promise<${returned}>`
  } catch (error) {
    if (!(error instanceof TooManyTypes)) throw error
    return ''
  }
}

function namesOf(names: readonly string[]): string[] {
  if (names.length === 0) return []
  let room = MAX_NAMES_CHARACTERS
  const shown = names.filter((name) => {
    room -= name.length + 2
    return room > 0
  })
  const rest = names.length - shown.length
  return [`  // Without parameters here: ${shown.join(', ')}${rest === 0 ? '' : ` and ${rest} more`}`]
}

function comment(text: string, most: number): string {
  const line = text.replace(/\s+/g, ' ').replaceAll('*/', '* /').trim()
  return line.length > most ? `${line.slice(0, most)}…` : line
}

/** Writes the types of one schema. What TypeScript can't express is left out: the tool checks its parameters. */
class Types {
  readonly #references: SchemaReferences
  #left = MAX_TYPES

  constructor(root: unknown) {
    this.#references = new SchemaReferences(root)
  }

  of(schema: unknown, depth = 0): string {
    if (--this.#left < 0) throw new TooManyTypes()
    if (schema === false) return 'never'
    if (!isObject(schema) || depth > MAX_DEPTH) return 'unknown'
    const { $ref, enum: literals, anyOf, oneOf = anyOf, allOf, type } = schema
    if ($ref !== undefined) return this.of(this.#references.target(schema, $ref), depth + 1)
    if ('const' in schema) return JSON.stringify(schema.const) ?? 'unknown'
    if (Array.isArray(literals) && literals.length <= MAX_LITERALS)
      return union(literals.map((one) => JSON.stringify(one)))
    if (Array.isArray(oneOf)) return union(oneOf.map((one) => this.of(one, depth + 1)))
    if (Array.isArray(allOf) && schema.properties === undefined) {
      return allOf.map((one) => grouped(this.of(one, depth + 1))).join(' & ')
    }
    if (Array.isArray(type)) return union(type.map((one) => this.#typed(one, schema, depth)))
    return this.#typed(type ?? (schema.properties === undefined ? undefined : 'object'), schema, depth)
  }

  #typed(type: unknown, schema: Readonly<Record<string, unknown>>, depth: number): string {
    switch (type) {
      case 'string':
      case 'boolean':
      case 'number':
      case 'null':
        return type
      case 'integer':
        return 'number'
      case 'array':
        return `${grouped(this.of(schema.items, depth + 1))}[]`
      case 'object':
        return this.#object(schema, depth)
      default:
        return 'unknown'
    }
  }

  #object({ properties, required, additionalProperties }: Readonly<Record<string, unknown>>, depth: number): string {
    const needed: readonly unknown[] = Array.isArray(required) ? required : []
    const members = Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => {
      const note = isObject(schema) && typeof schema.description === 'string' && comment(schema.description, MAX_NOTE)
      const type = this.of(schema, depth + 1)
      return `${keyOf(name)}${needed.includes(name) ? '' : '?'}: ${type}${note ? ` /* ${note} */` : ''}`
    })
    if (members.length > 0) return `{ ${members.join('; ')} }`
    return additionalProperties === false ? '{}' : `Record<string, ${this.of(additionalProperties, depth + 1)}>`
  }
}

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ') || 'never'

const grouped = (type: string): string => (/ [|&] /.test(type) ? `(${type})` : type)
