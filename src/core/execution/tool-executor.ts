import type { CallContext } from '../call-context.ts'
import { ABOVE_ZERO, checkNumber, checkObject } from '../check-options.ts'
import { type Clock, systemClock, Turns } from '../clock.ts'
import { type Budgets, inUnits } from '../costs.ts'
import { asToolError } from '../failure.ts'
import type { CircuitState, ToolHealth } from '../handler.ts'
import { type Log, silentLog } from '../log.ts'
import { LocalRates, type Rates } from '../rates.ts'
import { Recorder } from '../records/recorder.ts'
import { withoutCredentials } from '../records/redact.ts'
import { ToolMetrics } from '../records/tool-metrics.ts'
import type { Tracer } from '../records/tracer.ts'
import { waitInWords } from '../schema/problem-words.ts'
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
import { Approvals, mayNeedApproval, refuseOddId } from './approvals.ts'
import { type BoundTool, BoundTools, loadCompiler } from './bound-tool.ts'
import { Call, logCall, timedOut } from './call.ts'
import type { Continuations } from './continuations.ts'
import type { Known } from './once.ts'
import { ParameterCheck } from './parameter-check.ts'
import { permit } from './permit.ts'
import { callKey, ResultCache } from './result-cache.ts'
import { EXECUTOR_OPTIONS, type PayloadOf, Runner, type ToolExecutorOptions } from './runner.ts'
import type { ToolCost } from './tool-cost.ts'
import type { ToolRegistry } from './tool-registry.ts'
import { pinnedName, type RegisteredTool } from './tool-view.ts'
import type { UserAccounts } from './user-accounts.ts'

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
  readonly #approvals: Approvals
  /** Loaded when a tool that calls others is called: without approvals nothing has to continue. */
  readonly #continuations: (() => Promise<Continuations>) | undefined
  readonly #cache: ResultCache
  readonly #rates: Rates
  readonly #budgets: Budgets | undefined
  readonly #accounts: UserAccounts | undefined
  readonly #tracer: Tracer | undefined
  readonly #payload: PayloadOf | undefined
  readonly #logged: ToolExecutorOptions['logged']
  readonly #durable: boolean
  readonly #tools: BoundTools
  readonly #turns: Turns

  constructor(registry: ToolRegistry, options: ToolExecutorOptions = {}) {
    checkObject('ToolExecutor', options, EXECUTOR_OPTIONS)
    this.#registry = registry
    this.#log = options.log ?? silentLog
    this.#clock = options.clock ?? systemClock
    this.#turns = new Turns(this.#clock)
    const { kinds = {}, defaultTimeoutMs = DEFAULT_TIMEOUT_MS, compilePath, settled } = options
    checkNumber('ToolExecutor', 'defaultTimeoutMs', defaultTimeoutMs, ABOVE_ZERO)
    // Without a store of results an approved call could run twice.
    const approvals = options.once && options.approvals
    const canAsk = approvals !== undefined
    this.#tools = new BoundTools(registry, kinds, defaultTimeoutMs, canAsk, compilePath, settled)
    this.#runner = new Runner(this.#clock, this.#log, { ...options, execute: (...call) => this.#call(...call) })
    this.#check = new ParameterCheck(registry, this.#runner)
    this.#approvals = new Approvals(approvals, this.#clock, (tool) => this.#tools.hashOf(tool))
    let loaded: Continuations | undefined
    this.#continuations =
      approvals &&
      (async () => {
        loaded ??= new (await import('./continuations.ts')).Continuations(approvals, this.#clock, this.#tools)
        return loaded
      })
    this.#cache = options.cache ?? new ResultCache(this.#clock)
    this.#rates = options.rates ?? new LocalRates()
    this.#budgets = options.budgets
    this.#accounts = options.accounts
    this.#tracer = options.tracer
    this.#payload = options.payload
    this.#logged = options.logged
    this.#durable = options.durable === true
    this.#recorder = new Recorder(this.#clock, this.#log, [this.metrics, ...(options.sinks ?? [])])
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
   * every call is recorded. The order is a security property.
   */
  async execute(name: string, params: unknown, context: CallContext = NO_CONTEXT): Promise<ToolResult> {
    if (compiler() === undefined) await loadCompiler()
    const startedMs = this.#clock.now()
    const asked = typeof name === 'string' ? name : typeof name
    let call: Call | undefined
    let tool: BoundTool | undefined
    let envelope: ToolResult
    try {
      call = new Call(asked, context ?? NO_CONTEXT, startedMs)
      if (this.#runner.closed) throw new ToolExecutionError('SERVICE_UNAVAILABLE', CLOSED)
      if (this.#tracer !== undefined) call.beginSpan(this.#tracer)
      tool = this.#tools.find(call)
      permit(tool.definition, call)
      refuseOddId(call)
      const snapshot = this.#check.read(call, tool, params)
      const validated = this.#check.validate(call, tool, snapshot)
      if (validated !== undefined) await validated
      if (tool.callsOthers && this.#continuations !== undefined) {
        call.progress = await (await this.#continuations()).progressOf(call, tool.definition, snapshot.params)
      }
      // The approval of a call that a tool makes is for that call.
      const isNamed = call.context.approvalId !== undefined && !tool.callsOthers
      const mayWait = isNamed || mayNeedApproval(call, tool)
      const guarded = mayWait && (await this.#approvals.find(call, tool, snapshot))
      const limited = call.context.rates !== undefined || tool.limits.rate !== undefined
      if (limited && !(guarded && this.#approvals.isCounted(call, tool, snapshot.params))) {
        await takeRates(call, tool, this.#rates, this.#clock)
      }
      // Nobody is asked to approve a call that can't run.
      if (tool.account !== undefined) await this.#accounts?.require(tool.account, call.context, call.tool)
      // The caller may have lost an answer that is paid and approved.
      const hasBegun = guarded && this.#approvals.hasBegun(call, tool, snapshot.params)
      const stored =
        guarded || tool.cost !== undefined
          ? await this.#runner.stored(call, tool, snapshot.params, hasBegun)
          : undefined
      const free =
        stored ?? (tool.cost && (await this.#takeBudgets(call, tool, tool.cost, snapshot.params, guarded === true)))
      if (guarded && free === undefined) await this.#approve(call, tool, snapshot.params)
      // The person who approved may have changed them.
      const { params: approved } = call.snapshot ?? snapshot
      call.key = keyOf(call, tool, approved)
      const cached = free ?? this.#recall(call, tool)
      if (cached !== undefined) envelope = this.#envelope(call, cached.result)
      else {
        let value = this.#runner.run(call, tool, approved)
        if (value === call) {
          // Most work has ended one turn later, and needs no deadline. A caller may abort at once.
          if (call.context.signal === undefined) await undefined
          value = call.isRunning ? await this.#runner.outcomeOf(call) : call.takeOutcome()
        }
        const result = snapshotResult(value, tool.limits.maxResultBytes)
        if (tool.result !== undefined) await this.#check.checkResult(call, tool, result)
        envelope = this.#succeed(call, tool, result)
      }
    } catch (thrown) {
      // The constructor of Call throws if the context can't be read.
      const failed = call ?? new Call(asked, NO_CONTEXT, startedMs)
      const begun = mayHaveBegun(failed, thrown) ? await this.#begunBefore(failed) : undefined
      const held = begun === undefined && failed.progress ? await this.#continuations?.() : undefined
      envelope = begun ?? this.#fail(failed, held === undefined ? thrown : await held.hold(failed, thrown))
    }
    if (this.#durable) await this.#recorder.written(RECORD_TIMEOUT_MS)
    return envelope
  }

  /** What a call of a run came to that began before the run continued. */
  async #begunBefore(call: Call): Promise<ToolResult | undefined> {
    try {
      const known = await this.#runner.begun(call)
      return known && this.#envelope(call, known.result)
    } catch (begun) {
      // The tool may be gone, but not what its call has done.
      return this.#fail(call, begun, asToolError(begun, call.tool).extras)
    }
  }

  /**
   * Throws `RATE_LIMITED` if a budget is spent, unless the answer is cached: returns it then. Tools that cost nothing may
   * always run.
   */
  async #takeBudgets(
    call: Call,
    tool: BoundTool,
    cost: ToolCost,
    params: Params,
    isGuarded: boolean,
  ): Promise<Known | undefined> {
    const { tenant, keyId } = call
    const expected = cost.expected(call)
    if (expected === 0) return undefined
    try {
      const taken = await this.#budgets?.take({ tenant, keyId, tool: call.tool }, expected, cost.perCallOf(call))
      call.hold = taken?.hold
      for (const warning of taken?.warnings ?? []) call.warn(warning)
      return undefined
    } catch (refusal) {
      if (!isGuarded) call.key = keyOf(call, tool, params)
      const known = this.#recall(call, tool)
      if (known === undefined) throw refusal
      return known
    }
  }

  /** Runs a call that a tool makes. Tools that answer at once would block the process, and no deadline would end them. */
  async #call(name: string, params: unknown, context: CallContext): Promise<ToolResult> {
    for (let { next } = this.#turns; next !== undefined; { next } = this.#turns) await next
    return this.execute(name, params, context)
  }

  /** Records a call that the server refuses to run, and returns its envelope. */
  refuse(name: string, reason: ToolExecutionError, context: CallContext = NO_CONTEXT): ToolResult {
    return this.#fail(new Call(name, context, this.#clock.now()), reason)
  }

  /** Checks a call that will run later. It counts against the caller's limits now, the tool's when it runs. */
  async admit(name: string, params: unknown, context: CallContext): Promise<Admission> {
    await loadCompiler()
    const call = new Call(name, context, this.#clock.now())
    try {
      const tool = this.#tools.find(call)
      permit(tool.definition, call)
      await this.#check.validate(call, tool, this.#check.read(call, tool, params))
      await takeRates(call, undefined, this.#rates, this.#clock)
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
    const call = new Call(name, context, this.#clock.now())
    try {
      if (this.#runner.closed) throw new ToolExecutionError('SERVICE_UNAVAILABLE', CLOSED)
      call.snapshot = snapshotParams(params)
      await takeRates(call, undefined, this.#rates, this.#clock)
      call.attempts++
      const value = snapshotResult(await read(), LIMITS.resultBytes)
      this.#envelope(call, value)
      return value as T
    } catch (thrown) {
      this.#fail(call, thrown)
      throw thrown
    } finally {
      if (this.#durable) await this.#recorder.written(RECORD_TIMEOUT_MS)
    }
  }

  /** Counts a request that calls no tool against the caller's limits. Throws RATE_LIMITED. */
  count(context: CallContext): Promise<void> {
    return takeRates(new Call('', context, this.#clock.now()), undefined, this.#rates, this.#clock)
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
    return this.#tools.bound(name)?.health(tenant, this.#rates, this.#clock.now()) ?? {}
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
    const snapshot = this.#check.read(call, tool, params)
    await this.#check.validate(call, tool, snapshot)
    return snapshot.params
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

  /** Throws unless the call was approved. */
  async #approve(call: Call, tool: BoundTool, params: Params): Promise<void> {
    const changed = await this.#approvals.pass(call, tool, params)
    if (changed === undefined) return
    // The schema may have changed since the decision.
    await this.#check.validate(call, tool, this.#check.read(call, tool, changed))
    call.warn(`A person changed the parameters of tool '${tool.name}' when they approved the call`)
  }

  #recall(call: Call, tool: BoundTool): Known | undefined {
    return call.key === undefined || tool.limits.cacheTtlMs === undefined ? undefined : this.#cache.get(call.key)
  }

  #succeed(call: Call, tool: BoundTool, result: unknown): ToolResult {
    const { cacheTtlMs } = tool.limits
    // A handler that blocked the thread past its deadline could not be interrupted.
    const now = this.#clock.now()
    if (now > call.deadline) throw timedOut(call.timeoutMs)
    if (call.key !== undefined && cacheTtlMs !== undefined) this.#cache.set(call.key, result, cacheTtlMs)
    return this.#envelope(call, result, now)
  }

  #envelope(call: Call, result: unknown, now = this.#clock.now()): ToolResult {
    const execution_time_ms = this.#end(call, now, undefined, result)
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
    const execution_time_ms = this.#end(call, this.#clock.now(), error_code, undefined, text)
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

  #end(call: Call, now: number, code: ToolErrorCode | undefined, result?: unknown, error = ''): number {
    const executionTimeMs = Math.round((now - call.startedMs) * 1_000) / 1_000
    call.code = code
    call.executionTimeMs = executionTimeMs
    call.cost = call.bound?.cost?.of(call, result)
    // The record outlives the call and must not retain the tool's result.
    call.execution = undefined
    if (call.span !== undefined) call.endSpan(code, result)
    if (this.#payload !== undefined && call.context.stores !== false) {
      call.payload = this.#payload(call, code === undefined ? { result } : { error })
    }
    this.#recorder.add(call)
    return executionTimeMs
  }
}

/**
 * A call of a run that is refused now may have begun before the run continued: its tool was removed, or has other parameters,
 * permissions or limits since. As a mere refusal it would be made again.
 */
function mayHaveBegun({ attempts, context, idempotencyKey, tool }: Call, thrown: unknown): boolean {
  if (context.continued !== true || idempotencyKey === undefined || attempts > 0) return false
  const { code, extras } = asToolError(thrown, tool)
  return code !== 'APPROVAL_REQUIRED' && extras.outcome === undefined
}

/** Computed only if there is a cache, or another call to join. */
function keyOf(call: Call, tool: BoundTool, params: Params): string | undefined {
  if (tool.effect !== 'read' || tool.isPrivate(call)) return undefined
  if (tool.limits.cacheTtlMs === undefined && tool.executions.size === 0) return undefined
  return callKey(tool.hash, call.scope, params)
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

/** Counts the call against its limits, or throws `RATE_LIMITED`. Without a tool only the caller's limits apply. */
async function takeRates(call: Call, tool: BoundTool | undefined, rates: Rates, clock: Clock): Promise<void> {
  const { context } = call
  const { rates: callers = [] } = context
  const all = tool?.limits.rate === undefined ? callers : [...callers, tool.rateOf(call.tenant)]
  for (const [index, rate] of all.entries()) {
    const taken = rates.take(rate.key, rate, clock.now())
    const state = taken instanceof Promise ? await taken : taken
    const refused = state.waitMs > 0
    if (refused || (index === 0 && callers.length > 0)) context.onRate?.(state, rate)
    if (refused) {
      throw new ToolExecutionError('RATE_LIMITED', `${rate.description}: try again in ${waitInWords(state.waitMs)}`)
    }
  }
}
