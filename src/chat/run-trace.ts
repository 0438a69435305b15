import type { CallContext } from '../core/call-context.ts'
import { type Log, writeLog } from '../core/log.ts'
import type { Span, SpanFacts, Tracer } from '../core/tracer.ts'
import type { Model, Usage } from '../models/model.ts'
import type { RunAnswer, StopReason } from './run.ts'
import type { RunObserver } from './run-observer.ts'
import type { TurnReader } from './turn-reader.ts'

/** Traces one run: a span for it, and one under it for each turn of its model. A tracer that fails fails no run. */
export class RunTrace implements RunObserver {
  readonly #tracer: Tracer
  readonly #model: Model
  readonly #log: Log
  readonly #about: SpanFacts
  readonly #run: Span | undefined
  #turn: Span | undefined

  constructor(tracer: Tracer, model: Model, { tenant, runId, traceparent }: CallContext, log: Log) {
    this.#tracer = tracer
    this.#model = model
    this.#log = log
    this.#about = {
      model: model.id,
      ...(tenant !== undefined && { tenant }),
      ...(runId !== undefined && { runId }),
    }
    // A run has no name of its own.
    this.#run = this.#safely(() => tracer.start('invoke_agent', '', traceparent))
  }

  /** What the calls of the run belong to. */
  get traceparent(): string | undefined {
    return this.#run?.traceparent
  }

  asked(): void {
    this.#turn = this.#safely(() => this.#tracer.start('chat', this.#model.id, this.traceparent))
  }

  heard({ reason, usage }: TurnReader, failed?: StopReason): void {
    const turn = this.#turn
    this.#turn = undefined
    const facts = { ...this.#about, finishReason: failed ?? reason, ...tokens(usage), ...errorType(failed) }
    this.#safely(() => turn?.end(facts))
  }

  called(): void {
    // The executor traces its calls by itself.
  }

  ended({ stop_reason, usage, cost }: RunAnswer): void {
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
      writeLog(this.#log, 'warn', { err }, 'A run could not be traced')
      return undefined
    }
  }
}

const tokens = (usage: Usage | undefined): SpanFacts =>
  usage === undefined ? {} : { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens }

/** Limits are not errors: a run that comes to one has ended as it was told to. */
const errorType = (reason: StopReason | undefined): SpanFacts =>
  reason === 'error' || reason === 'cancelled' || reason === 'timeout' ? { errorType: reason } : {}
