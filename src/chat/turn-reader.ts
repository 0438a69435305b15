import type { CancelSignal } from '../core/cancellation.ts'
import type { Clock } from '../core/clock.ts'
import { DeadlineEntry, type DeadlineWheel } from '../core/deadline-wheel.ts'
import { AbortableStream } from '../models/abortable-stream.ts'
import type { FinishReason, Metadata, Model, ModelEvent, ModelRequest, ToolCall, Usage } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'

/** A model that says nothing for so long is not waited for. */
const LONGEST_SILENCE_MS = 300_000

/** What notices that a model has gone silent: one timer for all turns. */
export interface SilenceWatch {
  readonly clock: Clock
  readonly wheel: DeadlineWheel
}

type Spoken = Exclude<ModelEvent, { type: 'finish' }>

/** Reads one turn of a model, event by event, and keeps what the loop needs of it. */
export class TurnReader extends DeadlineEntry {
  text = ''
  readonly calls: ToolCall[] = []
  reason: FinishReason = 'error'
  usage: Usage | undefined = undefined
  metadata: Metadata | undefined = undefined
  /** Why the turn ended before its finish, where it did. */
  failure: { readonly thrown: unknown } | undefined = undefined
  readonly #model: Model
  readonly #silence: SilenceWatch
  #events: AbortableStream<ModelEvent> | undefined = undefined
  #lastEventMs: number

  constructor(model: Model, request: ModelRequest, signal: CancelSignal, silence: SilenceWatch) {
    super()
    this.#model = model
    this.#silence = silence
    this.#lastEventMs = silence.clock.now()
    silence.wheel.add(this, this.#lastEventMs + LONGEST_SILENCE_MS)
    try {
      this.#events = new AbortableStream(model.stream(request), signal)
    } catch (thrown) {
      this.failure = { thrown }
    }
  }

  /** The next event to pass on; undefined when the turn is over, well or with a `failure`. */
  async read(): Promise<Spoken | undefined> {
    try {
      const read = await this.#events?.next()
      if (read === undefined) return this.#close()
      if (read.done === true) throw this.#brokenOff()
      return this.#take(read.value) ? undefined : (read.value as Spoken)
    } catch (thrown) {
      this.failure = { thrown }
      return this.#close()
    }
  }

  /** Reads the turn to its end, where nobody wants to be told of its events. */
  async drain(): Promise<void> {
    try {
      if ((await this.#events?.each(this.#take)) === false) throw this.#brokenOff()
      if (this.failure !== undefined) this.#close()
    } catch (thrown) {
      this.failure = { thrown }
      this.#close()
    }
  }

  /** Keeps what matters of an event; says whether it was the last. */
  readonly #take = (event: ModelEvent): boolean => {
    if (event.type === 'finish') {
      this.#finish(event)
      return true
    }
    this.#lastEventMs = this.#silence.clock.now()
    if (event.type === 'text-delta') this.text += event.text
    else if (event.type === 'tool-call-end') this.calls.push(event.call)
    return false
  }

  override expire(): void {
    const { clock, wheel } = this.#silence
    const due = this.#lastEventMs + LONGEST_SILENCE_MS
    const problem = `Model ${this.#model.id} said nothing for ${LONGEST_SILENCE_MS / 1_000} s. Try again`
    if (clock.now() < due) wheel.add(this, due)
    else this.#events?.giveUp(new ModelError(problem))
  }

  #brokenOff(): ModelError {
    return new ModelError(`Model ${this.#model.id} stopped in mid-answer. Try again`)
  }

  #finish({ reason, usage, metadata }: ModelEvent & { type: 'finish' }): void {
    // Any call means that the model waits for results, whatever it says.
    this.reason = this.calls.length > 0 ? 'tool_calls' : reason
    this.usage = usage
    this.metadata = metadata
    this.#close()
  }

  #close(): undefined {
    this.#silence.wheel.remove(this)
    this.#events?.return()
    return undefined
  }
}
