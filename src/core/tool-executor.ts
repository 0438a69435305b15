import type { BoundTool } from './bound-tool.ts'
import { BoundTools } from './bound-tools.ts'
import { Call, type Ending } from './call.ts'
import type { CallContext } from './call-context.ts'
import { logCall } from './call-log.ts'
import { type Clock, systemClock } from './clock.ts'
import { asToolError } from './failure.ts'
import { LocalRates } from './local-rates.ts'
import { type Log, silentLog } from './log.ts'
import { ParameterCheck } from './parameter-check.ts'
import { permit } from './permit.ts'
import type { Rates } from './rates.ts'
import { Recorder } from './recorder.ts'
import { callKey, ResultCache } from './result-cache.ts'
import { Runner } from './runner.ts'
import { type ParamsSnapshot, snapshotResult } from './snapshot.ts'
import { takeRates } from './take-rates.ts'
import type { Effect, Params } from './tool.ts'
import type { ToolErrorCode } from './tool-error-code.ts'
import type { ToolExecutionError } from './tool-execution-error.ts'
import type { ToolExecutorOptions } from './tool-executor-options.ts'
import type { CircuitState, ToolHealth } from './tool-health.ts'
import { ToolMetrics } from './tool-metrics.ts'
import type { ToolRegistry } from './tool-registry.ts'
import type { FailureExtras, ToolResult } from './tool-result.ts'
import type { RegisteredTool } from './tool-view.ts'
import type { Tracer } from './tracer.ts'

/** Whether a call may run later. */
export type Admission = { readonly refused: ToolResult } | { readonly timeoutMs: number }

export const DEFAULT_TIMEOUT_MS = 30_000
const NO_CONTEXT: CallContext = Object.freeze({})
/** How long a durable answer waits for its record beyond the call itself. */
const LONGEST_RECORDING_MS = 800

/** The one way through: finds, validates, permits, limits, runs and records a call, and never throws. */
export class ToolExecutor {
  readonly metrics = new ToolMetrics()
  readonly #registry: ToolRegistry
  readonly #log: Log
  readonly #clock: Clock
  readonly #runner: Runner
  readonly #check: ParameterCheck
  readonly #recorder: Recorder
  readonly #cache: ResultCache
  readonly #rates: Rates
  readonly #tracer: Tracer | undefined
  readonly #durable: boolean
  readonly #tools: BoundTools
  readonly #ending: Ending<ToolResult> = {
    succeed: (call, value) => this.#succeed(call, value),
    fail: (call, thrown) => this.#fail(call, thrown),
  }

  constructor(registry: ToolRegistry, options: ToolExecutorOptions) {
    this.#registry = registry
    this.#log = options.log ?? silentLog
    this.#clock = options.clock ?? systemClock
    this.#tools = new BoundTools(registry, options.kinds, options.defaultTimeoutMs ?? DEFAULT_TIMEOUT_MS)
    this.#runner = new Runner(this.#clock, this.#log, options)
    this.#check = new ParameterCheck(registry, this.#runner)
    this.#cache = options.cache ?? new ResultCache(this.#clock)
    this.#rates = options.rates ?? new LocalRates()
    this.#tracer = options.tracer
    this.#durable = options.durable === true
    this.#recorder = new Recorder(this.#clock, this.#log, [this.metrics, ...(options.sinks ?? [])])
    registry.invokeBy((name, params, signal) => this.execute(name, params, signal ? { signal } : NO_CONTEXT))
  }

  /** How many calls are running now. */
  get running(): number {
    return this.#tools.running
  }

  /** The tools that it runs. */
  get registry(): ToolRegistry {
    return this.#registry
  }

  /** Runs a tool. Whatever happens, the answer is an envelope, and the call is recorded. */
  execute(name: string, params: unknown, context: CallContext = NO_CONTEXT): Promise<ToolResult> {
    const result = this.#execute(name, params, context)
    return this.#durable ? this.#recorded(result) : result
  }

  #execute(name: string, params: unknown, context: CallContext): Promise<ToolResult> {
    const startedMs = this.#clock.now()
    const asked = typeof name === 'string' ? name : typeof name
    let call: Call | undefined
    try {
      call = new Call(asked, context ?? NO_CONTEXT, startedMs)
      if (this.#tracer !== undefined) call.beginSpan(this.#tracer)
      const tool = this.#tools.find(call)
      const ready = this.#check.read(call, tool, params)
      const exact = this.#check.validate(call, tool, ready)
      return exact === undefined
        ? this.#proceed(call, tool, ready)
        : this.#after(exact, call, () => this.#proceed(call as Call, tool, ready))
    } catch (thrown) {
      // A context that cannot be read makes no call: this stands for it.
      return Promise.resolve(this.#fail(call ?? new Call(asked, NO_CONTEXT, startedMs), thrown))
    }
  }

  /** Answers for a call that its caller will not have run, so that this too is an envelope, and recorded. */
  refuse(name: string, reason: ToolExecutionError, context: CallContext = NO_CONTEXT): ToolResult {
    return this.#fail(new Call(name, context, this.#clock.now()), reason)
  }

  /**
   * The first half of a call's way, for one that is to run later: what refuses it now, or the deadline that it will
   * have. It counts against the caller's limits; those of the tool are for the time when it runs.
   */
  async admit(name: string, params: unknown, context: CallContext): Promise<Admission> {
    const call = new Call(name, context, this.#clock.now())
    try {
      const tool = this.#tools.find(call)
      await this.#check.validate(call, tool, this.#check.read(call, tool, params))
      permit(tool.definition, call)
      await takeRates(call, undefined, this.#rates, this.#clock)
      return { timeoutMs: call.timeoutMs }
    } catch (thrown) {
      return { refused: this.#fail(call, thrown) }
    }
  }

  /** What a call of the tool does to the world; undefined where there is no such tool. */
  effectOf(name: string): Effect | undefined {
    try {
      return this.#tools.find(new Call(name, NO_CONTEXT, 0)).effect
    } catch {
      return undefined
    }
  }

  /** Whether tools of this `implementation.type` can be run. */
  hasKind(type: string): boolean {
    return this.#tools.hasKind(type)
  }

  /** How it stands with a tool, and with what a tenant may still call of it. */
  healthOf(name: string, tenant: string): ToolHealth {
    return this.#tools.bound(name)?.health(tenant, this.#rates, this.#clock.now()) ?? {}
  }

  /** The circuits of the tools that were called before, where they have one. */
  circuits(): Iterable<readonly [tool: string, circuit: CircuitState]> {
    return this.#tools.circuits()
  }

  async #after(waited: Promise<void>, call: Call, next: () => Promise<ToolResult>): Promise<ToolResult> {
    try {
      await waited
      return await next()
    } catch (thrown) {
      return this.#fail(call, thrown)
    }
  }

  /** The second half of the way: the parameters are right, and nothing has happened yet. */
  #proceed(call: Call, tool: BoundTool, { params }: ParamsSnapshot): Promise<ToolResult> {
    permit(tool.definition, call)
    const limited = takeRates(call, tool, this.#rates, this.#clock)
    if (limited !== undefined) return this.#after(limited, call, () => this.#run(call, tool, params))
    return this.#run(call, tool, params)
  }

  #run(call: Call, tool: BoundTool, params: Params): Promise<ToolResult> {
    call.key = keyOf(call, tool, params)
    const cached = this.#recall(call, tool)
    if (cached !== undefined) return Promise.resolve(this.#envelope(call, cached.result))
    return this.#runner.run(call, tool, params, this.#ending)
  }

  /** Holds an answer back until its record is safe, but not for ever: the loss of the record is reported anyway. */
  async #recorded(result: Promise<ToolResult>): Promise<ToolResult> {
    const envelope = await result
    await this.#recorder.written(LONGEST_RECORDING_MS)
    return envelope
  }

  /** Checks parameters without running anything: `errors` are the problems in the words of the envelope. */
  async validate(tool: RegisteredTool | string, params: unknown): Promise<{ valid: boolean; errors: string[] }> {
    let name = ''
    try {
      const definition = typeof tool === 'string' ? undefined : this.#registry.definitionOf(tool)
      name = definition?.name ?? String(tool)
      const call = new Call(name, NO_CONTEXT, this.#clock.now())
      const known = definition === undefined || this.#registry.get(name) === tool
      const bound = known ? this.#tools.find(call) : this.#tools.bind(definition)
      call.timeoutMs = bound.limits.timeoutMs
      const problems = await this.#check.problems(call, bound, this.#check.read(call, bound, params))
      return { valid: problems.length === 0, errors: problems.map((problem) => problem.message) }
    } catch (thrown) {
      return { valid: false, errors: [asToolError(thrown, name).message] }
    }
  }

  /** Compiles a tool's schema now; says what is wrong with it, or nothing. */
  check(name: string): string | undefined {
    try {
      this.#check.compiled(this.#tools.find(new Call(name, NO_CONTEXT, 0)))
      return undefined
    } catch (thrown) {
      return asToolError(thrown, name).message
    }
  }

  /** Hands the records collected so far to the sinks. */
  flush(): void {
    this.#recorder.flush()
  }

  #recall(call: Call, tool: BoundTool): { readonly result: unknown } | undefined {
    return call.key === undefined || tool.limits.cacheTtlMs === undefined ? undefined : this.#cache.get(call.key)
  }

  #succeed(call: Call, value: unknown): ToolResult {
    try {
      const tool = call.bound as BoundTool
      const { maxResultBytes, cacheTtlMs } = tool.limits
      const result = snapshotResult(value, maxResultBytes)
      if (call.key !== undefined && cacheTtlMs !== undefined) this.#cache.set(call.key, result, cacheTtlMs)
      return this.#envelope(call, result)
    } catch (thrown) {
      return this.#fail(call, thrown)
    }
  }

  #envelope(call: Call, result: unknown): ToolResult {
    const execution_time_ms = this.#end(call, undefined, result)
    const envelope = { success: true, result, tool_name: call.tool, execution_time_ms } as const
    logCall(this.#log, call, envelope, this.#clock)
    return envelope
  }

  #fail(call: Call, thrown: unknown): ToolResult {
    const error = asToolError(thrown, call.tool)
    const { code: error_code, message, cause } = error
    const more = extrasOf(call, error)
    call.outcomeUnknown = more.outcome !== undefined
    const execution_time_ms = this.#end(call, error_code)
    const envelope = {
      success: false,
      error: message,
      error_code,
      tool_name: call.tool,
      execution_time_ms,
      ...more,
    } as const
    logCall(this.#log, call, envelope, this.#clock, cause)
    return envelope
  }

  #end(call: Call, code: ToolErrorCode | undefined, result?: unknown): number {
    const executionTimeMs = Math.round((this.#clock.now() - call.startedMs) * 1_000) / 1_000
    call.code = code
    call.executionTimeMs = executionTimeMs
    // The record outlives the call for a moment: it must not keep what the tool returned.
    call.flight = undefined
    if (call.span !== undefined) call.endSpan(code, result)
    this.#recorder.add(call)
    return executionTimeMs
  }
}

/** Worked out only where something can come of it: a cache to look into, or an identical call to join. */
function keyOf(call: Call, tool: BoundTool, params: Params): string | undefined {
  if (tool.effect !== 'read' || (tool.limits.cacheTtlMs === undefined && tool.flights.size === 0)) return undefined
  return callKey(tool.hash, call.tenant, params)
}

/** A write that ended early after it began may have happened, and only then is that said. */
function extrasOf({ bound, flight }: Call, { code, extras: all, repeat }: ToolExecutionError): FailureExtras {
  const { outcome, ...extras } = all
  if (bound?.effect !== 'write' || flight === undefined || repeat?.neverLeft === true) return extras
  const begun = flight.task === undefined || flight.task.started
  const endedEarly = code === 'TIMEOUT' || code === 'CANCELLED'
  return outcome !== undefined || (begun && endedEarly) ? { ...extras, outcome: 'unknown' } : extras
}
