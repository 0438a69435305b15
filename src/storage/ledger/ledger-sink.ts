import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { CallBatch, RecordSink } from '../../core/recorder.ts'
import type { CallEntry, Ledger } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { callEntry } from './call-entry.ts'
import { DropReport } from './drop-report.ts'
import { type EntryBatch, WaitingEntries } from './waiting-entries.ts'

/** How long records wait for others, where nobody waits for them; and from one batch to the next, at least. */
const GATHER_MS = 20
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000

export interface LedgerSinkOptions {
  readonly clock: Clock
  readonly log: Log
  /** Whether `write` gives a promise that settles when the records are safe. */
  readonly durable?: boolean
  /** What is kept at most while the ledger cannot take it. */
  readonly mostRecords?: number
  readonly mostBytes?: number
}

interface Waiter {
  /** How many entries must be written, or given up, of all that were ever taken. */
  readonly upTo: number
  /** Whether a failure ends the waiting, too. */
  readonly untilFailure: boolean
  readonly resolve: () => void
}

/** Hands records of calls and runs to the ledger, in order, one batch at a time, and never in the way of a call. */
export class LedgerSink implements RecordSink {
  readonly #ledger: Ledger
  readonly #clock: Clock
  readonly #log: Log
  readonly #durable: boolean
  readonly #waiting: WaitingEntries
  readonly #drops: DropReport
  #taken = 0
  #settled = 0
  /** The batch that is being written, or will be tried again exactly as it was. */
  #batch: EntryBatch | undefined
  #writing = false
  /** When the last batch went off. */
  #beganAt = 0
  #failing = false
  #pauseMs = FIRST_PAUSE_MS
  #waiters: Waiter[] = []
  #callOff: (() => void) | undefined
  #closed: Promise<void> | undefined
  #over = false

  constructor(ledger: Ledger, options: LedgerSinkOptions) {
    const { clock, log, durable = false, mostRecords = 100_000, mostBytes = 64 * 1024 * 1024 } = options
    this.#ledger = ledger
    this.#clock = clock
    this.#log = log
    this.#durable = durable
    this.#waiting = new WaitingEntries(mostRecords, mostBytes)
    this.#drops = new DropReport(clock, log)
  }

  /** How many records were dropped since the start. */
  get dropped(): number {
    return this.#drops.total
  }

  write({ records, epoch }: CallBatch): void | Promise<void> {
    this.#take(records.map((record) => callEntry(record, epoch)))
    if (!this.#durable) return
    // While nothing can be written, calls do not wait for it: that it is so has been said.
    if (this.#failing) return Promise.resolve()
    return this.#settledUpTo(this.#taken, true)
  }

  /** Takes a run that has ended. */
  run(run: StoredRun): void {
    this.#take([run])
  }

  /** Settles when everything that was handed in so far is written or given up. */
  flush(): Promise<void> {
    return this.#settledUpTo(this.#taken, false)
  }

  /** Takes nothing more, and gives up what is not written after `limitMs`. */
  close(limitMs: number): Promise<void> {
    this.#closed ??= this.#close(limitMs)
    return this.#closed
  }

  #take(entries: readonly (CallEntry | StoredRun)[]): void {
    let dropped = 0
    for (const entry of entries) {
      if (this.#closed === undefined && this.#waiting.add(entry)) this.#taken++
      else dropped++
    }
    if (dropped > 0) this.#drops.add(dropped)
    this.#writeAfter(GATHER_MS)
  }

  #settledUpTo(upTo: number, untilFailure: boolean): Promise<void> {
    if (this.#settled >= upTo) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiters.push({ upTo, untilFailure, resolve })
    if (!this.#failing) this.#writeNow()
    return promise
  }

  #writeAfter(ms: number): void {
    if (this.#callOff !== undefined || this.#writing || this.#over || this.#waiting.size === 0) return
    this.#callOff = this.#clock.after(ms, () => this.#writeNow())
  }

  #writeNow(): void {
    if (this.#writing || this.#over || this.#waiting.size === 0) return
    this.#callOff?.()
    this.#callOff = undefined
    this.#writing = true
    this.#beganAt = this.#clock.now()
    this.#batch ??= this.#waiting.first()
    const { calls, runs } = this.#batch
    this.#append(calls, runs).then(
      () => this.#written(),
      (error: unknown) => this.#failed(error),
    )
  }

  async #append(calls: readonly CallEntry[], runs: readonly StoredRun[]): Promise<void> {
    await this.#ledger.append(calls, runs)
  }

  #written(): void {
    this.#writing = false
    if (this.#over) return
    const size = this.#batch?.size ?? 0
    this.#batch = undefined
    this.#waiting.remove(size)
    this.#settled += size
    this.#pauseMs = FIRST_PAUSE_MS
    const failed = this.#failing
    if (failed) {
      this.#failing = false
      writeLog(
        this.#log,
        'info',
        { kept: this.#waiting.size + size },
        'The ledger works again: what was kept is written',
      )
    }
    if (this.#waiting.roomy) this.#drops.over()
    this.#wake(({ upTo }) => upTo <= this.#settled)
    // A few large batches take a good deal less than many small ones.
    const pauseMs = GATHER_MS - (this.#clock.now() - this.#beganAt)
    if (pauseMs <= 0 || failed || this.#waiters.length > 0 || this.#waiting.fillsBatch) this.#writeNow()
    else this.#writeAfter(pauseMs)
  }

  #failed(err: unknown): void {
    this.#writing = false
    if (this.#over) return
    if (!this.#failing) {
      this.#failing = true
      writeLog(this.#log, 'error', { err }, 'The ledger failed: records of calls are kept and tried again')
    }
    this.#wake(({ untilFailure }) => untilFailure)
    this.#writeAfter(this.#pauseMs)
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS)
  }

  #wake(which: (waiter: Waiter) => boolean): void {
    const woken = this.#waiters.filter(which)
    if (woken.length === 0) return
    this.#waiters = this.#waiters.filter((waiter) => !which(waiter))
    for (const { resolve } of woken) resolve()
  }

  async #close(limitMs: number): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const callOff = this.#clock.after(limitMs, resolve)
    this.#writeNow()
    await Promise.race([this.flush(), late])
    callOff()
    this.#callOff?.()
    this.#over = true
    this.#settled = this.#taken
    const lost = this.#waiting.size
    if (lost > 0) {
      this.#waiting.remove(lost)
      this.#drops.add(lost)
      writeLog(this.#log, 'error', { lost }, 'The ledger took no more before the end: these records are lost')
    }
    this.#wake(() => true)
  }
}
