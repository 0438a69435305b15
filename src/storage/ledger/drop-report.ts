import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'

const SAID_EVERY_MS = 10_000

/** Counts records that had to be dropped, and says so without filling the log. */
export class DropReport {
  readonly #clock: Clock
  readonly #log: Log
  #total = 0
  /** Since there was room last, and of those the ones that nobody has been told of. */
  #now = 0
  #unsaid = 0
  #saidAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  /** All that were ever dropped. */
  get total(): number {
    return this.#total
  }

  add(count: number): void {
    this.#total += count
    this.#now += count
    this.#unsaid += count
    if (this.#clock.now() - this.#saidAt < SAID_EVERY_MS) return
    this.#saidAt = this.#clock.now()
    writeLog(
      this.#log,
      'warn',
      { dropped: this.#unsaid, in_all: this.#total },
      'The ledger is too slow or not there, and the buffer is full: records of calls are dropped',
    )
    this.#unsaid = 0
  }

  /** There is room again. */
  over(): void {
    if (this.#now === 0) return
    writeLog(this.#log, 'info', { dropped: this.#now, in_all: this.#total }, 'Records of calls are kept again')
    this.#now = 0
    this.#unsaid = 0
  }
}
