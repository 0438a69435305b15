import { randomUUID } from 'node:crypto'
import type { CallContext } from '../core/call-context.ts'
import {
  anything,
  type Checks,
  COUNT,
  callable,
  checkAll,
  clock,
  logger,
  methods,
  number,
} from '../core/check-options.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import type { Budgets } from '../core/costs.ts'
import { DeadlineWheel } from '../core/deadline-wheel.ts'
import { LOCAL_TENANT } from '../core/execution/call.ts'
import type { ToolExecutor } from '../core/execution/tool-executor.ts'
import type { ToolRegistry } from '../core/execution/tool-registry.ts'
import { errorKind, type Log, silentLog } from '../core/log.ts'
import type { Tracer } from '../core/records/tracer.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import { CallBatch } from './call-batch.ts'
import { CallGuard } from './call-guard.ts'
import { checkRequest } from './check-request.ts'
import { besideClientTools, NO_CLIENT_TOOLS, requireChoice } from './client-tools.ts'
import { type DiscoverySettings, ToolDiscovery } from './discovery.ts'
import { calledVersions } from './journal.ts'
import type { RunAnswer, RunEvent, RunRequest, StopReason } from './run.ts'
import { callReport, type OnCalls, RunTrace } from './run-observer.ts'
import { type Ending, requireCheckable } from './run-output.ts'
import { RunRecord, type RunRecordOptions } from './run-record.ts'
import { RunState } from './run-state.ts'
import { type Offer, type ToolGate, versionsIn } from './tool-offer.ts'
import { type SilenceWatch, TurnReader } from './turn-reader.ts'

export interface ToolLoopOptions {
  readonly log?: Log
  readonly clock?: Clock
  readonly maxIterations?: number
  readonly maxParallelCalls?: number
  readonly tracer?: Tracer
  /** Refuse turns, and count what they cost. */
  readonly budgets?: Budgets
  readonly onRun?: (run: StoredRun, stored: boolean) => void
  readonly onCalls?: OnCalls
  /** Decides which tools are hidden from a model, or trigger a warning. */
  readonly gate?: ToolGate
  /** What a run is offered of a long list of tools. */
  readonly discovery?: ToolDiscovery | DiscoverySettings
  /** Whether the log may hold the parameters and the outcome of a call, which an error of a model can repeat. */
  readonly logged?: (failed: boolean) => boolean
}

const OPTIONS: Checks<ToolLoopOptions> = {
  ...{ log: logger, clock, maxIterations: number(COUNT), maxParallelCalls: number(COUNT), tracer: methods('start') },
  ...{ budgets: methods('take', 'turn'), onRun: callable, onCalls: callable, gate: callable, logged: callable },
  // What reads it checks it.
  discovery: anything,
}

export const DEFAULT_MAX_ITERATIONS = 5
const DEFAULT_MAX_PARALLEL_CALLS = 8
/** These runs end with a final request without tools. */
const ASKED_ONCE_MORE: ReadonlySet<StopReason> = new Set(['max_iterations', 'repeated_calls', 'timeout', 'budget'])

/** The loop between a model and its tools. Every run ends in an answer. */
export class ToolLoop {
  readonly #executor: ToolExecutor
  readonly #discovery: ToolDiscovery
  readonly #log: Log
  readonly #clock: Clock
  readonly #silence: SilenceWatch
  readonly #maxIterations: number
  readonly #maxParallelCalls: number
  readonly #recordOptions: RunRecordOptions | undefined
  readonly #onCalls: OnCalls | undefined
  readonly #gate: ToolGate | undefined
  readonly #tracer: Tracer | undefined
  readonly #budgets: Budgets | undefined
  readonly #logged: ToolLoopOptions['logged']

  constructor(registry: ToolRegistry, executor: ToolExecutor, options: ToolLoopOptions = {}) {
    checkAll('ToolLoop', options, OPTIONS)
    const { discovery, maxIterations = DEFAULT_MAX_ITERATIONS, maxParallelCalls = DEFAULT_MAX_PARALLEL_CALLS } = options
    this.#executor = executor
    const isMade = discovery instanceof ToolDiscovery
    this.#discovery = isMade
      ? discovery
      : new ToolDiscovery({ registry, metrics: executor.metrics, settings: discovery })
    this.#log = options.log ?? silentLog
    this.#clock = options.clock ?? systemClock
    this.#silence = { clock: this.#clock, wheel: new DeadlineWheel(this.#clock) }
    this.#maxIterations = maxIterations
    this.#maxParallelCalls = maxParallelCalls
    const recordOptions = { clock: this.#clock, log: this.#log, maxIterations }
    this.#recordOptions = options.onRun && { onRun: options.onRun, ...recordOptions }
    this.#onCalls = options.onCalls
    this.#gate = options.gate
    this.#tracer = options.tracer
    this.#budgets = options.budgets
    this.#logged = options.logged
  }

  async answer(request: RunRequest): Promise<RunAnswer> {
    let answer: RunAnswer | undefined
    for await (const event of this.#run(request, false)) if (event.type === 'answer') answer = event.answer
    return answer as RunAnswer
  }

  /** Streams events; the last one is the answer. Leaving early cancels everything. */
  run(request: RunRequest): AsyncGenerator<RunEvent, void, undefined> {
    return this.#run(request, true)
  }

  /** Yielding an event costs as much as half a call, so events are only yielded if someone reads them. */
  async *#run(request: RunRequest, streams: boolean): AsyncGenerator<RunEvent, void, undefined> {
    checkRequest(request)
    if (request.output !== undefined) await requireCheckable(request.output, 'ToolLoop.run: output')
    // A run that continues calls the versions that it was offered before.
    const called = calledVersions(request.journal)
    const rights = called === undefined ? request.context : { ...request.context, versions: called }
    const whole = this.#discovery.offers.to(rights, request.allowed_tools)
    const gated = this.#gate?.(whole, request.model.id, request.context?.tenant ?? LOCAL_TENANT)
    const permitted = gated?.offer ?? whole
    const chosen = this.#discovery.isNeeded(permitted) ? await this.#discovery.choose(permitted, request) : undefined
    const offer = chosen?.offer ?? permitted
    const offered = chosen?.tools ?? offer.tools
    const first = chosen === undefined ? offer : { ...offer, tools: [...offered] }
    let tools = besideClientTools(first, request.client_tools ?? NO_CLIENT_TOOLS)
    requireChoice(tools, request.tool_choice)
    if (tools.length === 0)
      this.#log.warn({ model: request.model.id }, 'No tools available: the model answers without tools')
    // The effect of a client tool is unknown, even if a server tool has the same name.
    const { versions } = offer
    const effectOf = (name: string) => {
      if (!offer.names.has(name)) return undefined
      return this.#executor.isNeverPrinted(name, { versions }) ? 'never' : this.#executor.effectOf(name, { versions })
    }
    const run = new RunState(request, tools, this.#silence, effectOf)
    run.costs.budgets = this.#budgets
    const guard = new CallGuard()
    const context = this.#begin(run, request, { ...offer, tools: offered }, gated?.decisions)
    const { observers } = run
    const most = this.#maxParallelCalls
    const maxIterations = request.max_iterations ?? this.#maxIterations
    let ending: Ending | undefined
    let batch: CallBatch | undefined
    try {
      if (run.gate !== undefined) yield { type: 'gate', decisions: run.gate }
      while (ending === undefined) {
        const asked = run.ask(tools, false)
        const turn = asked instanceof Promise ? await asked : asked
        if (!(turn instanceof TurnReader)) {
          ending = turn
          break
        }
        const demands = run.demands?.holdText ? run.demands : undefined
        for (let event = await turn.read(streams); event !== undefined; event = await turn.read(streams))
          if (demands === undefined || event.type !== 'text-delta') yield event
        ending = this.#endingAt(run, turn)
        const used = streams ? run.usageOf(turn) : undefined
        if (used !== undefined) yield used
        if (demands !== undefined) {
          const { text, again, ...settled } = await run.settle(demands, turn, ending)
          ending = settled.ending
          if (again !== undefined) continue
          if (streams && text !== '') yield { type: 'text-delta', text }
        }
        if (ending !== undefined) break
        const { iteration } = run
        const journal =
          request.journal && (await run.beginCalls(turn, this.#claims(turn, context), versionsIn(offer, turn.calls)))
        batch = new CallBatch(this.#executor, { context, guard, iteration, observers, journal }, turn.calls)
        for (let events = await batch.next(most); events.length > 0; events = await batch.next(most))
          if (streams) for (const event of events) yield event
        run.heard(turn)
        run.add(turn.calls, batch.tracked)
        const found = chosen?.found(batch.tracked) ?? []
        if (found.length > 0) tools = [...tools, ...found]
        run.offer(found)
        if (journal !== undefined) ending = await run.endCalls(batch, journal)
        if (ending !== undefined) break
        if (batch.endsRun) ending = { reason: 'repeated_calls' }
        else if (iteration >= maxIterations) ending = { reason: 'max_iterations' }
      }
      if (ASKED_ONCE_MORE.has(ending.reason)) yield* this.#conclude(run, ending, streams)
      else yield run.answered(ending, ending.content ?? '')
    } finally {
      run.close()
      if (!run.over) await run.left(batch)
    }
  }

  /** Creates the call context and the observers. */
  #begin(run: RunState, request: RunRequest, { names, tools, versions }: Offer, gate: RunAnswer['gate']): CallContext {
    if (gate !== undefined) {
      run.gate = gate
      this.#log.warn({ model: request.model.id, gate }, 'The model fails with some of its tools')
    }
    // Progress becomes events, and an idempotency key can't identify several calls.
    const { report: _report, idempotencyKey: _key, ...caller } = request.context ?? {}
    const context: CallContext = {
      ...caller,
      source: 'loop',
      runId: caller.runId ?? randomUUID(),
      model: request.model.id,
      visible: names,
      ...(request.ask_writes && { asksWrites: true }),
      ...(versions && { versions }),
      signal: run.signal,
      allowance: run.allowance,
    }
    const trace = this.#tracer && new RunTrace(this.#tracer, request.model, context, this.#log, request.prices)
    const record = this.#recordOptions && new RunRecord(this.#recordOptions, request, context, tools)
    // What is counted of calls that failed contains their parameters.
    const onCalls = context.stores === false ? undefined : this.#onCalls
    const calls = onCalls && callReport(onCalls, context, this.#log)
    const observers = [trace, record, calls].filter((one) => one !== undefined)
    if (observers.length > 0) run.observers = observers
    return trace?.traceparent === undefined ? context : { ...context, traceparent: trace.traceparent }
  }

  /** Undefined if the model called tools. */
  #endingAt(run: RunState, turn: TurnReader): Ending | undefined {
    if (turn.failure !== undefined) return this.#failed(run, turn)
    const asks = turn.calls.length > 0
    if (asks) run.iteration++
    this.#took(run, turn)
    if (asks) return run.handBack(turn)
    return { reason: turn.reason === 'tool_calls' ? 'error' : turn.reason, content: turn.text }
  }

  /** Whether calls write. Those that do so without a key must not run before the turn is stored. */
  #claims({ calls }: TurnReader, context: CallContext): boolean {
    const effects = calls.map((call) => this.#executor.effectOf(call.function.name, context))
    return effects.includes('write') && !effects.includes('idempotent')
  }

  #took(run: RunState, turn: TurnReader): void {
    run.spent(turn)
    const { reason, calls } = turn
    const fields = { model: run.model.id, iteration: run.iteration, tool_calls: calls.length, finish_reason: reason }
    this.#log.info(fields, 'Model turn')
    if (reason === 'stop' || calls.length > 0) return
    const raw = turn.rawReason !== undefined && { raw_finish_reason: turn.rawReason }
    this.#log.warn({ ...fields, ...raw }, 'Unexpected finish reason')
  }

  #failed(run: RunState, turn: TurnReader): Ending {
    const ending = run.failed(turn)
    if (ending.reason !== 'error') return ending
    const thrown = turn.failure?.thrown
    const why = this.#logged?.(false) === false ? { reason: errorKind(thrown) } : { err: thrown }
    this.#log.error({ model: run.model.id, ...why }, 'Model failed')
    return ending
  }

  /** Asks once more without tools, because a limit stopped the model before its answer. */
  async *#conclude(run: RunState, ending: Ending, streams: boolean): AsyncGenerator<RunEvent, void, undefined> {
    const last = await run.ask([], true)
    if (!(last instanceof TurnReader)) {
      yield run.answered(last.reason === 'cancelled' ? last : ending, '')
      return
    }
    for (let event = await last.read(streams); event !== undefined; event = await last.read(streams)) {
      if (event.type === 'text-delta' && ending.reason !== 'max_iterations' && !run.demands?.holdText) yield event
    }
    if (last.failure === undefined) this.#took(run, last)
    const used = streams ? run.usageOf(last) : undefined
    if (used !== undefined) yield used
    const failed = last.failure && this.#failed(run, last)
    const text = run.demands === undefined ? last.text : await run.demands.concluded(last)
    yield run.answered(failed?.reason === 'cancelled' ? failed : ending, text)
  }
}
