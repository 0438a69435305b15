import type { CallContext } from '../call-context.ts'
import { checkAll, contextProblem } from '../check-options.ts'
import { type Clock, systemClock, Turns } from '../clock.ts'
import { inUnits } from '../costs.ts'
import { asToolError } from '../failure.ts'
import type { CircuitState, ToolHealth } from '../handler.ts'
import { type Log, silentLog } from '../log.ts'
import { LocalRates, type Rates } from '../rates.ts'
import { Recorder } from '../records/recorder.ts'
import { withoutCredentials } from '../records/redact.ts'
import { ToolMetrics } from '../records/tool-metrics.ts'
import type { Tracer } from '../records/tracer.ts'
import { compiler } from '../schema/schema-compiler.ts'
import { LIMITS, snapshotParams, snapshotResult } from '../snapshot.ts'
import type { Pause } from '../storage/pause-store.ts'
import type { Effect, Params } from '../tool.ts'
import {
  errorTraits,
  type FailureExtras,
  type ToolErrorCode,
  ToolExecutionError,
  type ToolResult,
} from '../tool-result.ts'
import { Approvals, refuseOddId } from './approvals.ts'
import { type BoundTool, BoundTools, loadCompiler } from './bound-tool.ts'
import { Call, logCall } from './call.ts'
import { accountHook, CachedResults, CallCosts, CallRates, continuationHook, recordHook } from './call-stages.ts'
import { ParameterCheck } from './parameter-check.ts'
import { permit } from './permit.ts'
import { ResultCache } from './result-cache.ts'
import { EXECUTOR_OPTIONS, Runner, type ToolExecutorOptions } from './runner.ts'
import {
  type CallHook,
  type CompiledEnd,
  compileCall,
  compileEnd,
  type Failure,
  firstSaid,
  type Known,
  type MaybePromise,
} from './stages.ts'
import type { ToolRegistry } from './tool-registry.ts'
import { pinnedName, type RegisteredTool } from './tool-view.ts'

/** Whether a call may run later, and with which timeout. */
type Admission = { readonly refused: ToolResult } | { readonly timeoutMs: number }

const CLOSED = 'Toolyard is closed: no more tools can be called'
export const DEFAULT_TIMEOUT_MS = 30_000
const NO_CONTEXT: CallContext = Object.freeze({})
/** The maximum wait for the record of a durable call. The recorder reports lost records. */
const RECORD_TIMEOUT_MS = 800

export class ToolExecutor {
  readonly metrics = new ToolMetrics()
  readonly #registry: ToolRegistry
  readonly #log: Log
  readonly #clock: Clock
  readonly #runner: Runner
  readonly #check: ParameterCheck
  readonly #recorder: Recorder
  readonly #rates: CallRates
  readonly #limits: Rates
  readonly #tracer: Tracer | undefined
  readonly #logged: ToolExecutorOptions['logged']
  readonly #durable: boolean
  readonly #canAsk: boolean
  readonly #tools: BoundTools
  readonly #turns: Turns
  readonly #ends: CompiledEnd

  constructor(registry: ToolRegistry, options: ToolExecutorOptions = {}) {
    checkAll('ToolExecutor', options, EXECUTOR_OPTIONS)
    this.#registry = registry
    this.#log = options.log ?? silentLog
    this.#clock = options.clock ?? systemClock
    this.#turns = new Turns(this.#clock)
    const { kinds = {}, defaultTimeoutMs = DEFAULT_TIMEOUT_MS, compilePath, settled } = options
    // Without a store of results an approved call could run twice.
    const approvals = options.once && options.approvals
    this.#canAsk = approvals !== undefined
    const hooks: CallHook<BoundTool>[] = []
    const compile = (tool: BoundTool) => compileCall(hooks, tool)
    this.#tools = new BoundTools(
      registry,
      kinds,
      defaultTimeoutMs,
      approvals !== undefined,
      compilePath,
      settled,
      compile,
    )
    const execute = (...call: Required<Parameters<ToolExecutor['execute']>>) => this.#call(...call)
    this.#runner = new Runner(this.#clock, this.#log, { ...options, canAsk: approvals !== undefined, execute })
    this.#check = new ParameterCheck(registry, this.#runner)
    this.#limits = options.rates ?? new LocalRates()
    this.#rates = new CallRates(this.#limits, this.#clock)
    this.#tracer = options.tracer
    this.#logged = options.logged
    this.#durable = options.durable === true
    this.#recorder = new Recorder(this.#clock, this.#log, [this.metrics, ...(options.sinks ?? [])])
    const cached = new CachedResults(options.cache ?? new ResultCache(this.#clock))
    hooks.push(
      ...(approvals === undefined ? [] : [continuationHook(approvals, this.#clock, this.#tools)]),
      new Approvals(approvals, {
        clock: this.#clock,
        hashOf: (tool) => this.#tools.hashOf(tool),
        check: (call, params) => this.#check.check(call, call.bound as BoundTool, params),
      }),
      this.#rates,
      accountHook(options.accounts),
      this.#runner,
      new CallCosts(options.budgets, cached),
      cached,
      this.#check,
      recordHook(this.#recorder, options),
    )
    this.#ends = compileEnd(hooks)
    registry.diagnoseBy((tool) => this.#tools.fault(tool))
    registry.showBy((tool, rights) => this.#tools.shown(tool, rights))
    registry.invokeBy((...call) => this.execute(...call))
  }

  /** The number of running calls. */
  get running(): number {
    return this.#tools.running
  }

  get registry(): ToolRegistry {
    return this.#registry
  }

  /**
   * Runs a tool: find, permit, validate, limit, approve, cache, run, record. It never throws: every outcome is an envelope, and
   * every call is recorded. `stages.ts` names what happens in which order.
   */
  async execute(name: string, params: unknown, context: CallContext = NO_CONTEXT): Promise<ToolResult> {
    if (compiler() === undefined) await loadCompiler()
    const call = this.#callOf(name, context)
    let envelope: ToolResult
    try {
      const before = this.#before(call, params)
      const known = before instanceof Promise ? await before : before
      if (known !== undefined) envelope = this.#succeed(call, known.result)
      else {
        const tool = call.bound as BoundTool
        let value = this.#runner.run(call, tool, call.params as Params)
        if (value === call) {
          // Most work has ended one turn later, and needs no deadline. A caller may abort at once.
          if (call.context.signal === undefined) await undefined
          value = call.isRunning ? await this.#runner.outcomeOf(call) : call.takeOutcome()
        }
        const result = snapshotResult(value, tool.limits.maxResultBytes)
        const after = firstSaid(tool.stages.after, call, result)
        if (after !== undefined) await after
        envelope = this.#succeed(call, result)
      }
    } catch (thrown) {
      return this.#failed(call, thrown)
    }
    return this.#durable ? this.#written(envelope) : envelope
  }

  #callOf(name: string, context: CallContext): Call {
    const startedMs = this.#clock.now()
    const asked = typeof name === 'string' ? name : typeof name
    try {
      const problem = context === NO_CONTEXT || context === null ? undefined : contextProblem(context)
      if (problem === undefined) return new Call(asked, context ?? NO_CONTEXT, startedMs)
      throw new ToolExecutionError('INVALID_PARAMETERS', `The context of the call${problem}`)
    } catch (reason) {
      const call = new Call(asked, NO_CONTEXT, startedMs)
      call.unreadable = { reason }
      return call
    }
  }

  /** Finds the tool, permits and validates the call, and passes the stages before its run. Returns an answer that is known. */
  #before(call: Call, params: unknown): MaybePromise<Known | undefined> {
    readable(call)
    if (this.#runner.closed) throw new ToolExecutionError('SERVICE_UNAVAILABLE', CLOSED)
    if (this.#tracer !== undefined) call.beginSpan(this.#tracer)
    const tool = this.#tools.find(call)
    permit(tool.definition, call)
    refuseOddId(call, this.#canAsk)
    const checked = this.#check.check(call, tool, params)
    if (checked === undefined) return firstSaid(tool.stages.before, call, undefined)
    return checked.then(() => firstSaid(tool.stages.before, call, undefined))
  }

  /** What a failed call came to. */
  #failed(call: Call, thrown: unknown): MaybePromise<ToolResult> {
    const end = (said: Known | Failure = { thrown }) =>
      'thrown' in said ? this.#fail(call, said.thrown, said.extras) : this.#succeed(call, said.result)
    const said = firstSaid(this.#ends.failed, call, thrown)
    const envelope = said instanceof Promise ? said.then(end) : end(said)
    return this.#durable ? this.#written(envelope) : envelope
  }

  /** Waits for the record of the call. */
  async #written(envelope: MaybePromise<ToolResult>): Promise<ToolResult> {
    const result = await envelope
    await this.#recorder.written(RECORD_TIMEOUT_MS)
    return result
  }

  /** Runs a call that a tool makes. Tools that answer at once would block the process, and no deadline would end them. */
  async #call(name: string, params: unknown, context: CallContext): Promise<ToolResult> {
    for (let { next } = this.#turns; next !== undefined; { next } = this.#turns) await next
    return this.execute(name, params, context)
  }

  /** Records a call that the server refuses to run, and returns its envelope. */
  refuse(name: string, reason: ToolExecutionError, context: CallContext = NO_CONTEXT): ToolResult {
    return this.#fail(this.#callOf(name, context), reason)
  }

  /** Checks a call that will run later. It counts against the caller's limits now, the tool's when it runs. */
  async admit(name: string, params: unknown, context: CallContext): Promise<Admission> {
    await loadCompiler()
    const call = this.#callOf(name, context)
    try {
      readable(call)
      const tool = this.#tools.find(call)
      permit(tool.definition, call)
      await this.#check.check(call, tool, params)
      await this.#rates.take(call)
      return { timeoutMs: call.timeoutMs }
    } catch (thrown) {
      return { refused: this.#fail(call, thrown) }
    }
  }

  /**
   * Reads something besides tools for a caller: it counts against the limits of the caller, and is recorded. `name` can't be
   * that of a tool. Throws what `read` throws.
   */
  async access<T>(name: string, params: Params, context: CallContext, read: () => Promise<T>): Promise<T> {
    const call = this.#callOf(name, context)
    try {
      readable(call)
      if (this.#runner.closed) throw new ToolExecutionError('SERVICE_UNAVAILABLE', CLOSED)
      call.snapshot = snapshotParams(params)
      await this.#rates.take(call)
      call.attempts++
      const value = snapshotResult(await read(), LIMITS.resultBytes)
      this.#succeed(call, value)
      return value as T
    } catch (thrown) {
      this.#fail(call, thrown)
      throw thrown
    } finally {
      if (this.#durable) await this.#recorder.written(RECORD_TIMEOUT_MS)
    }
  }

  /** Counts a request that calls no tool against the caller's limits. Throws RATE_LIMITED. */
  async count(context: CallContext): Promise<void> {
    const call = this.#callOf('', context)
    readable(call)
    await this.#rates.take(call)
  }

  /** Without a caller, the strongest effect of the versions that callers may get: a write must not count as a read. */
  effectOf(name: string, caller?: CallContext): Effect | undefined {
    const reachable = caller === undefined ? this.#registry.reachable(name) : []
    if (reachable.length < 2) return this.#found(name, caller)?.effect
    const effects = reachable.map((tool) => this.#found(pinnedName(tool))?.effect)
    return (['write', 'idempotent', 'read'] as const).find((effect) => effects.includes(effect))
  }

  /** Whether a call that a model printed as text never runs, whatever its effect. */
  isNeverPrinted(name: string, caller?: CallContext): boolean {
    return this.#found(name, caller)?.neverPrinted === true
  }

  /** Whether a tool calls others, of which one may need approval. */
  callsOthers(name: string, caller?: CallContext): boolean {
    return this.#found(name, caller)?.callsOthers === true
  }

  /** Without a caller, the current version. */
  #found(name: string, caller?: CallContext): BoundTool | undefined {
    try {
      return this.#tools.of(name, caller)
    } catch {
      return undefined
    }
  }

  /** The circuit, rate limit and concurrency of a tool, as seen by a tenant. */
  healthOf(name: string, tenant: string): ToolHealth {
    return this.#tools.bound(name)?.health(tenant, this.#limits, this.#clock.now()) ?? {}
  }

  /** The circuits of a tenant; without one, of each tool the worst of all tenants. */
  circuits(tenant?: string): Iterable<readonly [tool: string, circuit: CircuitState]> {
    return this.#tools.circuits(tenant)
  }

  /** Validates parameters without running the tool. */
  async validate(tool: RegisteredTool | string, params: unknown): Promise<{ valid: boolean; errors: string[] }> {
    await loadCompiler()
    let name = ''
    try {
      const definition = typeof tool === 'string' ? undefined : this.#registry.definitionOf(tool)
      name = definition?.name ?? String(tool)
      const call = new Call(name, NO_CONTEXT, this.#clock.now())
      const known = definition === undefined || this.#registry.at(definition) === tool
      const bound = known
        ? this.#tools.of(definition === undefined ? name : pinnedName(definition))
        : this.#tools.bind(definition)
      call.timeoutMs = bound.limits.timeoutMs
      const problems = await this.#check.problems(call, bound, this.#check.read(call, bound, params))
      return { valid: problems.length === 0, errors: problems.map((problem) => problem.message) }
    } catch (thrown) {
      return { valid: false, errors: [asToolError(thrown, name).message] }
    }
  }

  /** The parameters as the tool would get them. Throws if they are invalid. */
  async prepare(name: string, params: unknown): Promise<Params> {
    const call = new Call(name, NO_CONTEXT, this.#clock.now())
    const tool = this.#tools.find(call)
    await this.#check.check(call, tool, params)
    return call.params as Params
  }

  /** The first tool, as `name@version`, whose definition is not the one that an approval was asked for. */
  changedSince(pause: Pick<Pause, 'tool' | 'definitions'>): Promise<string | undefined> {
    return this.#tools.changed(pause)
  }

  /** Compiles a tool's schema. Returns the problem, if there is one. */
  check(name: string): string | undefined {
    try {
      this.#check.compiled(this.#tools.of(name))
      return undefined
    } catch (thrown) {
      return asToolError(thrown, name).message
    }
  }

  flush(): void {
    this.#recorder.flush()
  }

  /** Cancels the running calls, and refuses further ones. */
  close(): void {
    this.#runner.close()
  }

  #succeed(call: Call, result: unknown): ToolResult {
    const execution_time_ms = this.#end(call, undefined, result)
    const said = { success: true, result, tool_name: call.tool, execution_time_ms } as const
    // Most calls have neither, and every copy takes time.
    const isPlain = call.warnings === undefined && call.bound?.cost === undefined
    const envelope = isPlain ? said : { ...said, ...costOf(call), ...(call.warnings && { warnings: call.warnings }) }
    logCall(this.#log, call, envelope, this.#clock, this.#mayLog(call, false))
    return envelope
  }

  #fail(call: Call, thrown: unknown, known?: FailureExtras): ToolResult {
    const error = asToolError(thrown, call.tool)
    const { code: error_code, message, cause } = error
    const more = known ?? extrasOf(call, error)
    call.outcomeUnknown = more.outcome !== undefined
    const text = withoutCredentials(error_code === 'TIMEOUT' ? message + runningSteps(more) : message)
    const execution_time_ms = this.#end(call, error_code, undefined, text)
    const envelope = {
      success: false,
      error: text,
      error_code,
      tool_name: call.tool,
      execution_time_ms,
      ...costOf(call),
      ...more,
      ...(call.warnings && { warnings: call.warnings }),
    } as const
    logCall(this.#log, call, envelope, this.#clock, this.#mayLog(call, true), cause)
    return envelope
  }

  #mayLog({ context }: Call, failed: boolean): boolean {
    return context.stores !== false && this.#logged?.(failed) !== false
  }

  #end(call: Call, code: ToolErrorCode | undefined, result?: unknown, error = ''): number {
    const { endedMs = this.#clock.now() } = call
    call.code = code
    call.executionTimeMs = Math.round((endedMs - call.startedMs) * 1_000) / 1_000
    // The record outlives the call and must not retain the tool's result.
    call.execution = undefined
    for (const stage of this.#ends.ended) stage(call, result, error)
    return call.executionTimeMs
  }
}

/** Throws if the context of the call could not be read. */
function readable({ unreadable }: Call): void {
  if (unreadable !== undefined) throw unreadable.reason
}

/** Marks a write that began and ended early: its outcome is unknown. */
function extrasOf({ bound, execution }: Call, { code, extras: all, repeat }: ToolExecutionError): FailureExtras {
  const { outcome, details = execution?.details?.(), ...others } = all
  const extras = details === undefined ? others : { ...others, details }
  if (bound?.effect !== 'write' || execution === undefined || repeat?.neverLeft === true) return extras
  const begun = execution.task === undefined || execution.task.started
  const endedEarly = errorTraits(code).ended === true
  return outcome !== undefined || (begun && endedEarly) ? { ...extras, outcome: 'unknown' } : extras
}

/** Nothing for tools that name no cost. */
const costOf = ({ bound, cost }: Call): { readonly cost?: number | null } | undefined =>
  bound?.cost && { cost: cost === undefined ? null : inUnits(cost) }

/** Where a tool that calls others was when its time was over. */
function runningSteps({ details }: FailureExtras): string {
  const running = details?.steps?.filter(({ status }) => status === 'running') ?? []
  return running.length === 0 ? '' : ` in ${running.map(({ id, tool }) => `step '${id}' (${tool})`).join(', ')}`
}
