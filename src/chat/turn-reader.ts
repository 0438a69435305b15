import type { CancelSignal } from '../core/cancellation.ts'
import type { Clock } from '../core/clock.ts'
import { DeadlineEntry, type DeadlineWheel } from '../core/deadline-wheel.ts'
import { leave } from '../models/abortable-stream.ts'
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

/** Reads a turn, and collects its text, calls and usage. */
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
  readonly #signal: CancelSignal
  readonly #silence: SilenceWatch
  readonly #bounds = new TurnBounds()
  readonly #abort = (): void => this.#fail(this.#signal.reason)
  readonly #onRead = (read: IteratorResult<ModelEvent, unknown>): void => this.#take(read)
  readonly #onFailure = (thrown: unknown): void => this.#fail(thrown)
  #events: AsyncIterator<ModelEvent> | undefined = undefined
  #waitsSince: number
  #isOver = false
  #wantsEach = true
  #resolve: ((event: Spoken | undefined) => void) | undefined = undefined

  constructor(model: Model, request: ModelRequest, signal: CancelSignal, silence: SilenceWatch) {
    super()
    this.#model = model
    this.#signal = signal
    this.#silence = silence
    this.#waitsSince = silence.clock.now()
    silence.wheel.add(this, this.#waitsSince + SILENCE_TIMEOUT_MS)
    try {
      this.#events = model.stream(request)[Symbol.asyncIterator]()
      signal.addEventListener('abort', this.#abort)
      if (signal.aborted) this.#abort()
    } catch (thrown) {
      this.#fail(thrown)
    }
  }

  /** The next event; undefined when the turn is over. Reads all of the turn first unless each event is wanted. */
  read(wantsEach: boolean): Promise<Spoken | undefined> {
    return new Promise((resolve) => {
      if (this.#isOver) return resolve(undefined)
      this.#wantsEach = wantsEach
      this.#resolve = resolve
      this.#pull()
    })
  }

  override expire(): void {
    const { clock, wheel } = this.#silence
    // The reader may pause, too.
    const since = this.#resolve === undefined ? clock.now() : this.#waitsSince
    const due = since + SILENCE_TIMEOUT_MS
    const problem = `Model ${this.#model.id} sent nothing for ${SILENCE_TIMEOUT_MS / 1_000} s. Try again`
    if (clock.now() < due) wheel.add(this, due)
    else this.#fail(new ModelError(problem, { status: 504 }))
  }

  /** With callbacks, because awaiting a source that hangs would never end. */
  #pull(): void {
    this.#waitsSince = this.#silence.clock.now()
    try {
      const events = this.#events as AsyncIterator<ModelEvent>
      events.next().then(this.#onRead, this.#onFailure)
    } catch (thrown) {
      this.#fail(thrown)
    }
  }

  #take(read: IteratorResult<ModelEvent, unknown>): void {
    if (this.#isOver) return
    try {
      if (read.done === true) throw new ModelError(`Model ${this.#model.id} stopped in mid-answer. Try again`)
      const event = read.value
      if (event.type === 'finish') this.#finish(event)
      else {
        this.#add(event)
        if (this.#wantsEach) this.#show(event)
        else this.#pull()
      }
    } catch (thrown) {
      this.#fail(thrown)
    }
  }

  #add(event: Spoken): void {
    this.#bounds.check(event)
    if (event.type === 'text-delta') this.text += event.text
    else if (event.type === 'tool-call-end' && !this.#isRepeated(event.call)) this.calls.push(event.call)
  }

  /** A provider that sends a call twice means it once. Other calls with a used id are calls of their own. */
  #isRepeated({ id, function: { name, arguments: args } }: ToolCall): boolean {
    return this.calls.some((one) => one.id === id && one.function.name === name && one.function.arguments === args)
  }

  #finish({ reason, raw_reason, usage, metadata }: ModelEvent & { type: 'finish' }): void {
    // Some providers report another reason beside calls.
    this.reason = this.calls.length > 0 ? 'tool_calls' : reason
    this.rawReason = raw_reason?.slice(0, MAX_RAW_REASON)
    this.usage = usage !== undefined && isCount(usage) ? usage : undefined
    this.metadata = metadata
    this.#end()
  }

  #fail(thrown: unknown): void {
    if (this.#isOver) return
    this.failure = { thrown }
    this.#end()
  }

  /** Doesn't wait for the source to end. */
  #end(): void {
    this.#isOver = true
    this.#silence.wheel.remove(this)
    this.#signal.removeEventListener('abort', this.#abort)
    leave(this.#events)
    this.#show(undefined)
  }

  /** Ends the pending read. */
  #show(event: Spoken | undefined): void {
    const resolve = this.#resolve
    this.#resolve = undefined
    resolve?.(event)
  }
}
