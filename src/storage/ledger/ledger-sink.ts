import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { CallBatch, CallRecord, RecordSink } from '../../core/recorder.ts'
import type { CallEntry, Ledger } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'

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

/** What the ledger is told of a call. `epoch` makes the time of day of the clock's. */
const callEntry = (record: CallRecord, epoch: number): CallEntry => ({
  at: epoch + record.startedMs,
  tenant: record.tenant,
  caller: record.caller ?? null,
  source: record.source ?? null,
  runId: record.runId ?? null,
  tool: record.tool,
  model: record.model ?? null,
  schemaHash: record.schemaHash ?? null,
  params: record.params === undefined ? null : jsonText(record.params),
  code: record.code ?? null,
  unknown: record.outcomeUnknown,
  durationMs: record.executionTimeMs,
  attempts: record.attempts,
})

function jsonText(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null
  } catch {
    return null
  }
}

const SAID_EVERY_MS = 10_000

/** Counts records that had to be dropped, and says so without filling the log. */
class DropReport {
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

/** What is handed to the ledger at once: no more than the calling thread packs in a few milliseconds. */
const MOST_IN_BATCH = 2_000
const MOST_BYTES_IN_BATCH = 4 * 1024 * 1024
/** What an entry takes besides its parameters, about. */
const ENTRY_BYTES = 400

interface EntryBatch {
  readonly calls: readonly CallEntry[]
  readonly runs: readonly StoredRun[]
  /** How many there are of both. */
  readonly size: number
}

/** Calls and runs that are not written yet, in the order they came; bounded in number and in bytes. */
class WaitingEntries {
  readonly #mostEntries: number
  readonly #mostBytes: number
  readonly #entries: (CallEntry | StoredRun)[] = []
  readonly #sizes: number[] = []
  #bytes = 0

  constructor(mostEntries: number, mostBytes: number) {
    this.#mostEntries = mostEntries
    this.#mostBytes = mostBytes
  }

  get size(): number {
    return this.#entries.length
  }

  /** Whether there are as many as one batch takes. */
  get fillsBatch(): boolean {
    return this.#entries.length >= MOST_IN_BATCH || this.#bytes >= MOST_BYTES_IN_BATCH
  }

  /** Whether at least half of the room is free. */
  get roomy(): boolean {
    return this.#entries.length * 2 <= this.#mostEntries && this.#bytes * 2 <= this.#mostBytes
  }

  /** False where there is no room for it. */
  add(entry: CallEntry | StoredRun): boolean {
    const bytes = isRun(entry) ? 2 * JSON.stringify(entry).length : ENTRY_BYTES + 2 * (entry.params?.length ?? 0)
    if (this.#entries.length >= this.#mostEntries || this.#bytes + bytes > this.#mostBytes) return false
    this.#entries.push(entry)
    this.#sizes.push(bytes)
    this.#bytes += bytes
    return true
  }

  /** The first of them, as many as one batch takes; they stay until they are removed. */
  first(): EntryBatch {
    const calls: CallEntry[] = []
    const runs: StoredRun[] = []
    let size = 0
    for (let bytes = 0; size < MOST_IN_BATCH && bytes < MOST_BYTES_IN_BATCH; size++) {
      const entry = this.#entries[size]
      if (entry === undefined) break
      if (isRun(entry)) runs.push(entry)
      else calls.push(entry)
      bytes += this.#sizes[size] as number
    }
    return { calls, runs, size }
  }

  remove(count: number): void {
    this.#entries.splice(0, count)
    for (const bytes of this.#sizes.splice(0, count)) this.#bytes -= bytes
  }
}

const isRun = (entry: CallEntry | StoredRun): entry is StoredRun => 'steps' in entry
