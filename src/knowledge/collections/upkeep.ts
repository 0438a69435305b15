import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { pause } from '../../core/pause.ts'
import type { Collections } from './collections.ts'

/** Leaves a server that has just started its CPU time. */
const VECTORS_AFTER_MS = 10_000
const SWEEP_EVERY_MS = 3_600_000
/** After this time the missing parts of a document are not expected any more. */
const PARTS_STAY_MS = 86_400_000

export interface UpkeepOptions {
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
  #work: Promise<void> = Promise.resolve()

  constructor(options: UpkeepOptions) {
    this.#options = options
    this.#sweep()
    this.again()
  }

  /** Stores the documentation now and embeds it later. Called again after a reload, which may change the embedder. */
  again(): void {
    this.#cancelVectors()
    this.#do('The pages that ship could not be put into their collection', () => this.#collections.putOwnDocs())
    this.#cancelVectors = this.#options.clock.after(VECTORS_AFTER_MS, () =>
      this.#do('No vectors were made of the pages that ship: they are found by words', () => this.#embed()),
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
    this.#do('Parts of documents that were never completed could not be removed', () =>
      this.#collections.sweep(clock.wall() - PARTS_STAY_MS),
    )
    this.#cancelSweep = clock.after(SWEEP_EVERY_MS, () => this.#sweep())
  }

  /** Pauses as long as it works, so that it takes at most half a core. */
  async #embed(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#ended
    await this.#collections.embedOwnDocs({ signal, pause: (ms) => pause(ms, clock, signal) })
  }

  /** Runs tasks one after another. Logs failures; they don't stop later tasks. */
  #do(failure: string, work: () => Promise<unknown>): void {
    this.#work = this.#work.then(async () => {
      if (this.#ended.signal.aborted) return
      try {
        await work()
      } catch (err) {
        if (!this.#ended.signal.aborted) writeLog(this.#options.log, 'warn', { err }, failure)
      }
    })
  }
}
