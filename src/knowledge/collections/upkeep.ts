import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { pause } from '../../core/pause.ts'
import type { Collections } from './collections.ts'

/** A server that has just started has better things to do. */
const VECTORS_AFTER_MS = 10_000
const SWEEP_EVERY_MS = 3_600_000
/** Parts of a document that is not whole by then never come. */
const PARTS_STAY_MS = 86_400_000

export interface UpkeepOptions {
  /** The collections as they are now: others after the configuration was read again. */
  readonly collections: () => Collections
  readonly clock: Clock
  readonly log: Log
}

/** What a server does for collections while it runs: the pages that ship, their vectors, and parts that nobody needs. */
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

  /** Puts the pages that ship, and makes their vectors later: what makes them may be another than before. */
  again(): void {
    this.#cancelVectors()
    this.#do('The pages that ship could not be put into their collection', () => this.#collections.putOwnDocs())
    this.#cancelVectors = this.#options.clock.after(VECTORS_AFTER_MS, () =>
      this.#do('No vectors were made of the pages that ship: they are found by words', () => this.#embed()),
    )
  }

  /** Nothing is begun from now on; settles when what was begun has ended. */
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

  /** As much rest as work, so that half of a core stays to everybody else. */
  async #embed(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#ended
    await this.#collections.embedOwnDocs({ signal, pause: (ms) => pause(ms, clock, signal) })
  }

  /** One thing after the other. What fails is said, and fails nothing else. */
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
