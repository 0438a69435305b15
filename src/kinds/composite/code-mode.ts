import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { matchesGlobs } from '../../core/execution/permit.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { pinnedName } from '../../core/execution/tool-view.ts'
import type { Handler, HandlerContext, Isolate, IsolatedTask, Kind } from '../../core/handler.ts'
import type { Effect, ToolDefinition } from '../../core/tool.ts'
import { type StepReport, ToolExecutionError, type ToolFailure, type ToolResult } from '../../core/tool-result.ts'
import { CallSlots } from './callees.ts'
import type { CodeWaits } from './code-sandbox.ts'
import { declarations } from './declarations.ts'

export const CODE_MODE = 'code_mode'
const RUN_CODE = 'run_code'
const MODULE = new URL(`./code-sandbox${extname(import.meta.filename)}`, import.meta.url).href
const MAX_SOURCE_BYTES = 65_536
const MAX_IN_FLIGHT = 32
const MAX_TOOL_NAME = 64

export interface CodeModeSettings {
  readonly enabled?: boolean
  /** Patterns of the tools that code may call. Default: all. */
  readonly tools?: readonly string[]
  readonly timeout_ms?: number
  readonly memory_mb?: number
  readonly max_calls?: number
}

export const CODE_MODE_DEFAULTS = { tools: ['*'], timeout_ms: 30_000, memory_mb: 64, max_calls: 50 } as const

type Limits = Required<Omit<CodeModeSettings, 'enabled'>>

export interface CodeModeParts {
  readonly registry: ToolRegistry
  /** Runs the sandbox. Its processes may start worker threads. */
  readonly isolate: Isolate
  effectOf(name: string): Effect | undefined
}

/** The tool that runs code of the model, which calls other tools. */
export class CodeModeKind implements Kind {
  readonly schema = { properties: { type: { const: CODE_MODE } } }
  readonly neverPrinted = true
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
