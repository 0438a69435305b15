import type { CancelSignal } from '../core/cancellation.ts'
import type { Clock } from '../core/clock.ts'
import { DeadlineEntry, type DeadlineWheel } from '../core/deadline-wheel.ts'
import { AbortableStream } from '../models/abortable-stream.ts'
import type { FinishReason, Metadata, Model, ModelEvent, ModelRequest, ToolCall, Usage } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { isCount } from '../models/model-info.ts'
import { TurnBounds } from '../models/turn-bounds.ts'

const SILENCE_TIMEOUT_MS = 300_000

/** One timer for all turns. */
export interface SilenceWatch {
  readonly clock: Clock
  readonly wheel: DeadlineWheel
}

const MAX_RAW_REASON = 100

type Spoken = Exclude<ModelEvent, { type: 'finish' }>

/** Reads a turn event by event, and collects its text, calls and usage. */
export class TurnReader extends DeadlineEntry {
  text = ''
  readonly calls: ToolCall[] = []
  reason: FinishReason = 'error'
  rawReason: string | undefined = undefined
  usage: Usage | undefined = undefined
  metadata: Metadata | undefined = undefined
  /** Set if the turn didn't finish. */
  failure: { readonly thrown: unknown } | undefined = undefined
  readonly #model: Model
  readonly #silence: SilenceWatch
  #events: AbortableStream<ModelEvent> | undefined = undefined
  #lastEventMs: number
  readonly #bounds = new TurnBounds()

  constructor(model: Model, request: ModelRequest, signal: CancelSignal, silence: SilenceWatch) {
    super()
    this.#model = model
    this.#silence = silence
    this.#lastEventMs = silence.clock.now()
    silence.wheel.add(this, this.#lastEventMs + SILENCE_TIMEOUT_MS)
    try {
      this.#events = new AbortableStream(model.stream(request), signal)
    } catch (thrown) {
      this.failure = { thrown }
    }
  }

  /** Undefined when the turn is over. */
  async read(): Promise<Spoken | undefined> {
    try {
      const read = await this.#events?.next()
      if (read === undefined) return this.#close()
      if (read.done === true) throw new ModelError(`Model ${this.#model.id} stopped in mid-answer. Try again`)
      const event = read.value
      if (event.type === 'finish') return this.#finish(event)
      this.#lastEventMs = this.#silence.clock.now()
      this.#bounds.check(event)
      if (event.type === 'text-delta') this.text += event.text
      else if (event.type === 'tool-call-end' && !this.#isRepeated(event.call)) this.calls.push(event.call)
      return event
    } catch (thrown) {
      this.failure = { thrown }
      return this.#close()
    }
  }

  /** A provider that sends a call twice means it once. Other calls with a used id are calls of their own. */
  #isRepeated({ id, function: { name, arguments: args } }: ToolCall): boolean {
    return this.calls.some((one) => one.id === id && one.function.name === name && one.function.arguments === args)
  }

  override expire(): void {
    const { clock, wheel } = this.#silence
    const due = this.#lastEventMs + SILENCE_TIMEOUT_MS
    const problem = `Model ${this.#model.id} sent nothing for ${SILENCE_TIMEOUT_MS / 1_000} s. Try again`
    if (clock.now() < due) wheel.add(this, due)
    else this.#events?.giveUp(new ModelError(problem, { status: 504 }))
  }

  #finish({ reason, raw_reason, usage, metadata }: ModelEvent & { type: 'finish' }): undefined {
    // Some providers report another reason beside calls.
    this.reason = this.calls.length > 0 ? 'tool_calls' : reason
    this.rawReason = raw_reason?.slice(0, MAX_RAW_REASON)
    this.usage = usage !== undefined && isCount(usage) ? usage : undefined
    this.metadata = metadata
    return this.#close()
  }

  #close(): undefined {
    this.#silence.wheel.remove(this)
    this.#events?.return()
    return undefined
  }
}
