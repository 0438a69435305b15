import { randomUUID } from 'node:crypto'
import { LOCAL_TENANT } from '../core/call.ts'
import type { CallContext } from '../core/call-context.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { DeadlineWheel } from '../core/deadline-wheel.ts'
import { type Log, silentLog } from '../core/log.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import type { ToolExecutor } from '../core/tool-executor.ts'
import type { ToolRegistry } from '../core/tool-registry.ts'
import type { Tracer } from '../core/tracer.ts'
import { CallBatch } from './call-batch.ts'
import { CallGuard } from './call-guard.ts'
import { CallReport, type OnCalls } from './call-report.ts'
import { besideClientTools, NO_CLIENT_TOOLS } from './client-tools.ts'
import type { RunAnswer, RunEvent, RunRequest, StopReason } from './run.ts'
import { type RunKeeper, RunRecord } from './run-record.ts'
import { type Ending, RunState } from './run-state.ts'
import { RunTrace } from './run-trace.ts'
import type { ToolGate } from './tool-gate.ts'
import { type Offer, ToolOffer } from './tool-offer.ts'
import { type SilenceWatch, TurnReader } from './turn-reader.ts'

export interface ToolLoopOptions {
  readonly log?: Log
  readonly clock?: Clock
  /** For runs that name none. */
  readonly maxIterations?: number
  /** Calls of one turn at a time. */
  readonly maxParallelCalls?: number
  readonly tracer?: Tracer
  /** Told of every run when it is over. */
  readonly onRun?: (run: StoredRun) => void
  /** Told of the calls of every run when it is over, and what they were made with. */
  readonly onCalls?: OnCalls
  /** Decides which tools a model is warned of, or not offered. */
  readonly gate?: ToolGate
}

export const DEFAULT_MAX_ITERATIONS = 5
const DEFAULT_MAX_PARALLEL_CALLS = 8
/** Here the model has been stopped before it had the last word. */
const ASKED_ONCE_MORE: ReadonlySet<StopReason> = new Set(['max_iterations', 'repeated_calls', 'timeout', 'budget'])

/** The loop between a model and its tools. Every run ends in an answer. */
export class ToolLoop {
  readonly #executor: ToolExecutor
  readonly #offer: ToolOffer
  readonly #log: Log
  readonly #clock: Clock
  readonly #silence: SilenceWatch
  readonly #maxIterations: number
  readonly #maxParallelCalls: number
  readonly #keeper: RunKeeper | undefined
  readonly #onCalls: OnCalls | undefined
  readonly #gate: ToolGate | undefined
  readonly #tracer: Tracer | undefined

  constructor(registry: ToolRegistry, executor: ToolExecutor, options: ToolLoopOptions = {}) {
    this.#executor = executor
    this.#offer = new ToolOffer(registry)
    this.#log = options.log ?? silentLog
    this.#clock = options.clock ?? systemClock
    this.#silence = { clock: this.#clock, wheel: new DeadlineWheel(this.#clock) }
    this.#maxIterations = options.maxIterations ?? DEFAULT_MAX_ITERATIONS
    this.#maxParallelCalls = options.maxParallelCalls ?? DEFAULT_MAX_PARALLEL_CALLS
    const kept = { clock: this.#clock, log: this.#log, maxIterations: this.#maxIterations }
    this.#keeper = options.onRun && { onRun: options.onRun, ...kept }
    this.#onCalls = options.onCalls
    this.#gate = options.gate
    this.#tracer = options.tracer
  }

  /** Carries a conversation to its answer. */
  async answer(request: RunRequest): Promise<RunAnswer> {
    let answer: RunAnswer | undefined
    for await (const event of this.#run(request, false)) if (event.type === 'answer') answer = event.answer
    return answer as RunAnswer
  }

  /** The same, told as it happens; the last event is the answer. Leaving it early ends everything that runs. */
  run(request: RunRequest): AsyncGenerator<RunEvent, void, undefined> {
    return this.#run(request, true)
  }

  /** The one loop. Who only wants the answer is not told the rest, which saves a step for each event. */
  async *#run(request: RunRequest, tell: boolean): AsyncGenerator<RunEvent, void, undefined> {
    const whole = this.#offer.to(request.context?.flags, request.allowed_tools)
    const gated = this.#gate?.(whole, request.model.id, request.context?.tenant ?? LOCAL_TENANT)
    const offer = gated?.offer ?? whole
    const tools = besideClientTools(offer, request.client_tools ?? NO_CLIENT_TOOLS)
    if (tools.length === 0) this.#log.warn({ model: request.model.id }, 'No tools available: the model answers without')
    // What a client's own tool does is not known here, also if a tool of the server has the same name.
    const effectOf = (name: string) => (offer.names.has(name) ? this.#executor.effectOf(name) : undefined)
    const run = new RunState(request, tools, this.#silence, effectOf)
    const guard = new CallGuard()
    const context = this.#begin(run, request, offer, gated?.decisions)
    const { observers } = run
    const most = this.#maxParallelCalls
    const maxIterations = request.max_iterations ?? this.#maxIterations
    let ending: Ending | undefined
    let batch: CallBatch | undefined
    try {
      if (tell && run.gate !== undefined) yield { type: 'gate', decisions: run.gate }
      while (ending === undefined) {
        const turn = run.ask(tools, false)
        if (!(turn instanceof TurnReader)) {
          ending = turn
          break
        }
        if (tell) for (let event = await turn.read(); event !== undefined; event = await turn.read()) yield event
        else await turn.drain()
        ending = this.#endingAt(run, turn)
        const used = tell ? run.usageOf(turn) : undefined
        if (used !== undefined) yield used
        if (ending !== undefined) break
        const { iteration } = run
        batch = new CallBatch(this.#executor, { context, guard, iteration, tell, observers }, turn.calls)
        for (let event = await batch.next(most); event !== undefined; event = await batch.next(most))
          if (tell) yield event
        run.heard(turn)
        run.add(turn.calls, batch.tracked)
        if (batch.endsRun) ending = { reason: 'repeated_calls' }
        else if (iteration >= maxIterations) ending = { reason: 'max_iterations' }
      }
      if (ASKED_ONCE_MORE.has(ending.reason)) yield* this.#conclude(run, ending)
      else yield run.answered(ending, ending.content ?? '')
    } finally {
      run.close()
      if (!run.over) await run.left(batch)
    }
  }

  /** What the calls of a run are made with. Who wants to know of runs follows this one from here on. */
  #begin(run: RunState, request: RunRequest, { names, tools }: Offer, gate: RunAnswer['gate']): CallContext {
    if (gate !== undefined) {
      run.gate = gate
      this.#log.warn({ model: request.model.id, gate }, 'The model is known to fail with some of the tools')
    }
    // Progress is told by events, and one key cannot stand for many calls.
    const { report: _report, idempotencyKey: _key, ...caller } = request.context ?? {}
    const context: CallContext = {
      ...caller,
      source: 'loop',
      runId: caller.runId ?? randomUUID(),
      model: request.model.id,
      visible: names,
      signal: run.signal,
    }
    const trace = this.#tracer && new RunTrace(this.#tracer, request.model, context, this.#log)
    const record = this.#keeper && new RunRecord(this.#keeper, request, context, tools)
    const calls = this.#onCalls && new CallReport(this.#onCalls, context, this.#log)
    const observers = [trace, record, calls].filter((one) => one !== undefined)
    if (observers.length > 0) run.observers = observers
    return trace?.traceparent === undefined ? context : { ...context, traceparent: trace.traceparent }
  }

  /** What a turn came to, where the model asks for nothing more. */
  #endingAt(run: RunState, turn: TurnReader): Ending | undefined {
    if (turn.failure !== undefined) return this.#failed(run, turn)
    const asks = turn.calls.length > 0
    if (asks) run.iteration++
    this.#took(run, turn)
    if (asks) return run.handBack(turn)
    return { reason: turn.reason === 'tool_calls' ? 'error' : turn.reason, content: turn.text }
  }

  #took(run: RunState, turn: TurnReader): void {
    run.spent(turn)
    const { reason, calls } = turn
    const fields = { model: run.model.id, iteration: run.iteration, tool_calls: calls.length, finish_reason: reason }
    this.#log.info(fields, 'Model turn')
    if (reason !== 'stop' && calls.length === 0) this.#log.warn(fields, 'Unexpected finish reason')
  }

  #failed(run: RunState, turn: TurnReader): Ending {
    const ending = run.failed(turn)
    if (ending.reason === 'error') this.#log.error({ model: run.model.id, err: turn.failure?.thrown }, 'Model failed')
    return ending
  }

  /** Asks the model once more, without tools, where it was stopped before it had the last word. */
  async *#conclude(run: RunState, ending: Ending): AsyncGenerator<RunEvent, void, undefined> {
    const last = run.ask([], true)
    if (!(last instanceof TurnReader)) {
      yield run.answered(last.reason === 'cancelled' ? last : ending, '')
      return
    }
    for (let event = await last.read(); event !== undefined; event = await last.read()) {
      if (event.type === 'text-delta' && ending.reason !== 'max_iterations') yield event
    }
    if (last.failure === undefined) this.#took(run, last)
    const used = run.usageOf(last)
    if (used !== undefined) yield used
    const failed = last.failure && this.#failed(run, last)
    yield run.answered(failed?.reason === 'cancelled' ? failed : ending, last.text)
  }
}
