import { pause } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { Collections } from './collections.ts'

/** Leaves CPU time to a server that has just started. */
const VECTORS_AFTER_MS = 10_000
const SWEEP_EVERY_MS = 3_600_000
/** Then the missing parts of a document aren't expected any more. */
const PARTS_STAY_MS = 86_400_000

interface UpkeepOptions {
  /** The current collections: reloading the configuration replaces them. */
  readonly collections: () => Collections
  readonly clock: Clock
  readonly log: Log
}

/** Background work of a server: stores and embeds Toolyard's documentation, removes parts of incomplete documents. */
export class Upkeep {
  readonly #options: UpkeepOptions
  readonly #ended = new AbortController()
  #cancelSweep = (): void => {}
  #cancelVectors = (): void => {}
  /** Ends the embedding with the collections in use. */
  #replaced = new AbortController()
  #work: Promise<void> = Promise.resolve()

  constructor(options: UpkeepOptions) {
    this.#options = options
    this.#sweep()
    this.again()
  }

  /** Stores the documentation now and embeds it later. Called again after a reload, which may change the embedder. */
  again(): void {
    this.#cancelVectors()
    // The collections before a reload are closed soon.
    this.#replaced.abort()
    this.#replaced = new AbortController()
    const signal = AbortSignal.any([this.#replaced.signal, this.#ended.signal])
    this.#do("Could not store Toolyard's documentation", () => this.#collections.putOwnDocs())
    this.#cancelVectors = this.#options.clock.after(VECTORS_AFTER_MS, () =>
      this.#do(
        "Could not embed Toolyard's documentation: searching it by words only",
        () => this.#embed(signal),
        signal,
      ),
    )
  }

  /** Starts no more work; resolves when running work has ended. */
  async end(): Promise<void> {
    this.#cancelSweep()
    this.#cancelVectors()
    this.#ended.abort()
    await this.#work
  }

  get #collections(): Collections {
    return this.#options.collections()
  }

  #sweep(): void {
    const { clock } = this.#options
    this.#do('Could not remove parts of incomplete documents', () =>
      this.#collections.sweep(clock.wall() - PARTS_STAY_MS),
    )
    this.#cancelSweep = clock.after(SWEEP_EVERY_MS, () => this.#sweep())
  }

  /** Works at most half of the time. */
  async #embed(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    await this.#collections.embedOwnDocs({ signal, pause: (ms) => pause(ms, clock, signal) })
  }

  /** Runs tasks one after another. Logs failures; they don't stop later tasks. */
  #do(failure: string, work: () => Promise<unknown>, signal = this.#ended.signal): void {
    this.#work = this.#work.then(async () => {
      if (signal.aborted) return
      try {
        await work()
      } catch (err) {
        if (!signal.aborted) writeLog(this.#options.log, 'warn', { err }, failure)
      }
    })
  }
}
