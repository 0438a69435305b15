import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { matchesGlobs } from '../../core/execution/permit.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import type { Handler, HandlerContext, Isolate, IsolatedTask, Kind } from '../../core/handler.ts'
import type { Effect, ToolDefinition } from '../../core/tool.ts'
import { type StepReport, ToolExecutionError, type ToolFailure, type ToolResult } from '../../core/tool-result.ts'
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
      return this.#tools().every((tool) => this.#isRead(tool)) ? 'read' : 'write'
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
      const run = new CodeRun(tool.name, context, this.#limits.max_calls, {
        mayCall: (name) => this.#mayCall(name),
        isWrite: (name) => this.#parts.effectOf(name) === 'write',
      })
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

  #isRead({ name, approval = false }: ToolDefinition): boolean {
    return approval === false && this.#parts.effectOf(name) === 'read'
  }

  #isOffered({ name, implementation }: ToolDefinition): boolean {
    return implementation.type !== CODE_MODE && matchesGlobs(this.#limits.tools, name)
  }

  /** The executor knows what to say about an unknown tool. */
  #mayCall(name: string): boolean {
    const { registry } = this.#parts
    const tool = registry.find(name)
    return tool === undefined || this.#isOffered(registry.definitionOf(tool))
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

interface ToolFacts {
  mayCall(name: string): boolean
  isWrite(name: string): boolean
}

/** One run of code. Its calls are those of the caller, in the parent process. */
class CodeRun {
  readonly #tool: string
  readonly #context: HandlerContext
  readonly #maxCalls: number
  readonly #tools: ToolFacts
  readonly #steps: StepReport[] = []
  readonly #running = new Set<Promise<unknown>>()
  readonly #waiting: (() => void)[] = []
  readonly #abort = new AbortController()
  /** How often the same call was made: together they identify it if the run is repeated. */
  readonly #repeats = new Map<string, number>()
  #free = MAX_IN_FLIGHT

  constructor(tool: string, context: HandlerContext, maxCalls: number, tools: ToolFacts) {
    this.#tool = tool
    this.#context = context
    this.#maxCalls = maxCalls
    this.#tools = tools
  }

  get steps(): readonly StepReport[] {
    return [...this.#steps]
  }

  async result(isolate: Isolate, params: object): Promise<unknown> {
    const { tenant, flags, log, signal } = this.#context
    const task: IsolatedTask = {
      ...{ tool: this.#tool, module: MODULE, export: 'runCode', params, tenant, flags, log, started: false },
      report: () => {},
      call: (name, input) => this.#call(name, input),
    }
    try {
      return await isolate.run(task, AbortSignal.any([signal, this.#abort.signal]))
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
    if (!this.#tools.mayCall(name)) return refused(name, 'TOOL_NOT_FOUND', `Tool '${name}' is not available to code`)
    this.#steps.push({ id: String(index + 1), tool: name.slice(0, MAX_TOOL_NAME), status: 'not_run' })
    const running = this.#made(index, name, params)
    this.#running.add(running)
    return running.finally(() => this.#running.delete(running))
  }

  async #made(index: number, name: string, params: unknown): Promise<ToolResult> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      if (this.#abort.signal.aborted) return await refused(name, 'CANCELLED', 'The code has ended')
      this.#report(index, { status: 'running' })
      const call = `${name} ${JSON.stringify(params)}`
      const repeat = this.#repeats.get(call) ?? 0
      this.#repeats.set(call, repeat + 1)
      const options = { step: `${repeat} ${call}`, signal: this.#abort.signal }
      const result = await (this.#context.call?.(name, params, options) ??
        refused(name, 'EXECUTION_ERROR', "Tools can't be called here"))
      if (result.success) this.#report(index, { status: 'done' })
      else this.#failed(index, result)
      return result
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }

  /** A call that waits for a person ends the run: nothing else must happen meanwhile. */
  #failed(index: number, { error, error_code, outcome, details }: ToolFailure): void {
    const status = error_code === 'CANCELLED' ? 'cancelled' : 'failed'
    this.#report(index, { status, error, error_code, ...(outcome && { outcome }) })
    if (error_code !== 'APPROVAL_REQUIRED') return
    if (this.#context.idempotencyKey === undefined && this.#hasWritten()) {
      const message = `${error}. The code can't go on then: it has written before. Repeat such code with an idempotency key`
      this.#abort.abort(new ToolExecutionError('EXECUTION_ERROR', message))
      return
    }
    const approval = details?.approval && { approval: details.approval }
    const extras = { details: { ...approval, steps: this.steps } }
    this.#abort.abort(new ToolExecutionError('APPROVAL_REQUIRED', `The code was stopped: ${error}`, extras))
  }

  /** Without a key, the repeat that continues would write again. */
  #hasWritten(): boolean {
    return this.#steps.some(
      ({ tool, status, error_code }) =>
        status !== 'not_run' && error_code !== 'APPROVAL_REQUIRED' && this.#tools.isWrite(tool),
    )
  }

  #report(index: number, state: Omit<StepReport, 'id' | 'tool'>): void {
    const { id, tool } = this.#steps[index] as StepReport
    this.#steps[index] = { id, tool, ...state }
    this.#context.report({ step: id, tool, status: state.status })
  }
}

const refused = async (name: string, code: ToolFailure['error_code'], error: string): Promise<ToolFailure> => ({
  ...{ success: false, error, error_code: code, tool_name: name, execution_time_ms: 0 },
})
