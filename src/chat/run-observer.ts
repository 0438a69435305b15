import type { CallContext } from '../core/call-context.ts'
import { inUnits } from '../core/costs.ts'
import { type Log, writeLog } from '../core/log.ts'
import type { Span, SpanFacts, Tracer } from '../core/records/tracer.ts'
import type { Model, Usage } from '../models/model.ts'
import { type ModelPrices, turnCost } from '../models/model-info.ts'
import type { RunAnswer, StopReason, TrackedCall } from './run.ts'
import type { TurnReader } from './turn-reader.ts'

/** Observes a run. Observers must not throw or change the run. */
export interface RunObserver {
  turnStarted?(turn: TurnReader): void
  /** `failed` is set if the turn didn't finish. */
  turnEnded?(turn: TurnReader, failed?: StopReason): void
  /** `index` is the call's position in its turn. */
  callEnded?(call: TrackedCall, index: number): void
  runEnded(answer: RunAnswer, iterations: number): void
}

export const NO_OBSERVERS: readonly RunObserver[] = Object.freeze([])

/** Receives the calls of a finished run. */
export type OnCalls = (calls: readonly TrackedCall[], context: CallContext) => void

/** Passes all calls to a callback when the run ends. A waiting run has not ended. */
export const callReport = (onCalls: OnCalls, context: CallContext, log: Log): RunObserver => ({
  runEnded({ tool_calls, stop_reason }) {
    if (tool_calls.length === 0 || stop_reason === 'approval_required') return
    try {
      onCalls(tool_calls, context)
    } catch (err) {
      writeLog(log, 'error', { err, run_id: context.runId }, 'Could not count the calls of a run')
    }
  },
})

/** Traces a run and its turns; the executor traces calls. Errors of the tracer don't affect the run. */
export class RunTrace implements RunObserver {
  readonly #tracer: Tracer
  readonly #model: Model
  readonly #log: Log
  readonly #prices: ModelPrices | undefined
  readonly #about: SpanFacts
  readonly #run: Span | undefined
  #turn: Span | undefined

  constructor(
    tracer: Tracer,
    model: Model,
    { tenant, runId, traceparent }: CallContext,
    log: Log,
    prices?: ModelPrices,
  ) {
    this.#prices = prices
    this.#tracer = tracer
    this.#model = model
    this.#log = log
    this.#about = {
      model: model.id,
      ...(tenant !== undefined && { tenant }),
      ...(runId !== undefined && { runId }),
    }
    this.#run = this.#safely(() => tracer.start('invoke_agent', '', traceparent))
  }

  get traceparent(): string | undefined {
    return this.#run?.traceparent
  }

  turnStarted(): void {
    this.#turn = this.#safely(() => this.#tracer.start('chat', this.#model.id, this.traceparent))
  }

  turnEnded({ reason, usage }: TurnReader, failed?: StopReason): void {
    const turn = this.#turn
    const cost = turnCost(this.#prices, usage)
    this.#turn = undefined
    const facts = { ...this.#about, finishReason: failed ?? reason, ...tokens(usage), ...errorType(failed) }
    this.#safely(() => turn?.end(cost === undefined ? facts : { ...facts, cost: inUnits(cost) }))
  }

  runEnded({ stop_reason, usage, cost }: RunAnswer): void {
    const turn = this.#turn
    if (turn !== undefined) this.#safely(() => turn.end({ ...this.#about, ...errorType('cancelled') }))
    const facts = {
      ...this.#about,
      finishReason: stop_reason,
      ...tokens(usage),
      ...(cost !== undefined && { cost }),
      ...errorType(stop_reason),
    }
    this.#safely(() => this.#run?.end(facts))
  }

  #safely<Value>(traced: () => Value): Value | undefined {
    try {
      return traced()
    } catch (err) {
      writeLog(this.#log, 'warn', { err }, 'Could not trace a run')
      return undefined
    }
  }
}

const tokens = (usage: Usage | undefined): SpanFacts =>
  usage === undefined ? {} : { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens }

/** Reaching a limit isn't an error. */
const errorType = (reason: StopReason | undefined): SpanFacts =>
  reason === 'error' || reason === 'cancelled' || reason === 'timeout' ? { errorType: reason } : {}
