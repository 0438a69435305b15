import { type Clock, within } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { type CallBatch, type CallRecord, type RecordSink, toolIn } from '../../core/records/recorder.ts'
import type { CallEntry, EventEntry, Ledger, TurnEntry } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { entryFields } from './row-code.ts'

/** How long records wait for others, and the minimum time between two batches, unless a caller waits. */
const GATHER_MS = 20
const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 5_000

export interface LedgerSinkOptions {
  readonly clock: Clock
  readonly log: Log
  /** Whether `write` returns a promise that settles when the records are stored. */
  readonly durable?: boolean
  /** Limits of the buffer while the ledger does not respond. */
  readonly maxRecords?: number
  readonly maxBytes?: number
}

interface Waiter {
  /** How many of all entries must be written or dropped. */
  readonly upTo: number
  /** Whether a failure ends the wait, too. */
  readonly untilFailure: boolean
  readonly resolve: () => void
}

/** Writes records of calls, runs and events to the ledger, in order and in batches, without delaying calls. */
export class LedgerSink implements RecordSink {
  readonly #ledger: Ledger
  readonly #clock: Clock
  readonly #log: Log
  readonly #durable: boolean
  readonly #waiting: WaitingEntries
  readonly #drops: DropReport
  #taken = 0
  #turns = 0
  #settled = 0
  /** The batch that is being written, or will be retried unchanged. */
  #batch: EntryBatch | undefined
  #writing = false
  #beganAt = 0
  #failing = false
  #pauseMs = FIRST_PAUSE_MS
  #waiters: Waiter[] = []
  #cancel: (() => void) | undefined
  #closed: Promise<void> | undefined
  #over = false

  constructor(ledger: Ledger, options: LedgerSinkOptions) {
    const { clock, log, durable = false, maxRecords = 100_000, maxBytes = 64 * 1024 * 1024 } = options
    this.#ledger = ledger
    this.#clock = clock
    this.#log = log
    this.#durable = durable
    this.#waiting = new WaitingEntries(maxRecords, maxBytes)
    this.#drops = new DropReport(clock, log)
  }

  get dropped(): number {
    return this.#drops.total
  }

  write({ records, epoch }: CallBatch): void | Promise<void> {
    this.#take(records.map((record) => callEntry(record, epoch)))
    return this.#stored()
  }

  /** Records a run that has ended. */
  run(run: StoredRun): void {
    this.#take([run])
  }

  /** Counts the cost of a model's turn. */
  turn(turn: Omit<TurnEntry, 'turn'>): void {
    this.#take([{ ...turn, turn: ++this.#turns }])
  }

  /** Records an event. */
  event(event: EventEntry): void | Promise<void> {
    this.#take([event])
    return this.#stored()
  }

  #stored(): void | Promise<void> {
    if (!this.#durable) return
    // Calls do not wait while the ledger fails; the failure has been logged.
    if (this.#failing) return Promise.resolve()
    return this.#settledUpTo(this.#taken, true)
  }

  /** Settles when all records so far are written or dropped. */
  flush(): Promise<void> {
    return this.#settledUpTo(this.#taken, false)
  }

  /** Accepts no more records, and drops those that are not written after `limitMs`. */
  close(limitMs: number): Promise<void> {
    this.#closed ??= this.#close(limitMs)
    return this.#closed
  }

  #take(entries: readonly Entry[]): void {
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
    if (this.#cancel !== undefined || this.#writing || this.#over || this.#waiting.size === 0) return
    this.#cancel = this.#clock.after(ms, () => this.#writeNow())
  }

  #writeNow(): void {
    if (this.#writing || this.#over || this.#waiting.size === 0) return
    this.#cancel?.()
    this.#cancel = undefined
    this.#writing = true
    this.#beganAt = this.#clock.now()
    this.#batch ??= this.#waiting.first()
    this.#append(this.#batch).then(
      () => this.#written(),
      (error: unknown) => this.#failed(error),
    )
  }

  async #append({ calls, runs, events, turns }: EntryBatch): Promise<void> {
    await this.#ledger.append(calls, runs, events, turns)
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
        'The ledger works again: buffered records are written',
      )
    }
    if (this.#waiting.roomy) this.#drops.over()
    this.#wake(({ upTo }) => upTo <= this.#settled)
    // A few large batches cost less than many small ones.
    const pauseMs = GATHER_MS - (this.#clock.now() - this.#beganAt)
    if (pauseMs <= 0 || failed || this.#waiters.length > 0 || this.#waiting.fillsBatch) this.#writeNow()
    else this.#writeAfter(pauseMs)
  }

  #failed(err: unknown): void {
    this.#writing = false
    if (this.#over) return
    if (!this.#failing) {
      this.#failing = true
      writeLog(this.#log, 'error', { err }, 'The ledger failed: records of calls are buffered and retried')
    }
    this.#wake(({ untilFailure }) => untilFailure)
    this.#writeAfter(this.#pauseMs)
    this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_PAUSE_MS)
  }

  #wake(which: (waiter: Waiter) => boolean): void {
    const woken = this.#waiters.filter(which)
    if (woken.length === 0) return
    this.#waiters = this.#waiters.filter((waiter) => !which(waiter))
    for (const { resolve } of woken) resolve()
  }

  async #close(limitMs: number): Promise<void> {
    this.#writeNow()
    await within(limitMs, this.flush(), this.#clock)
    this.#cancel?.()
    this.#over = true
    this.#settled = this.#taken
    const lost = this.#waiting.size
    if (lost > 0) {
      this.#waiting.remove(lost)
      this.#drops.add(lost)
      writeLog(this.#log, 'error', { lost }, 'The ledger did not accept these records before shutdown: they are lost')
    }
    this.#wake(() => true)
  }
}

/** `epoch` converts the time of the clock to the time of day. */
const callEntry = (record: CallRecord, epoch: number): CallEntry => ({
  ...entryFields(record),
  at: epoch + record.startedMs,
  tool: toolIn(record),
  hold: record.hold,
  params: record.params === undefined ? null : jsonText(record.params),
  approval: record.approval && { id: record.approval.id, params: jsonText(record.approval.params) },
  payload: record.payload,
  nesting:
    (record.id ?? record.parentId) === undefined ? undefined : { call_id: record.id, parent_id: record.parentId },
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

const REPORT_EVERY_MS = 10_000

/** Counts dropped records, and logs them at most every ten seconds. */
class DropReport {
  readonly #clock: Clock
  readonly #log: Log
  #total = 0
  /** Dropped since there was room last, and those of them that are not logged yet. */
  #now = 0
  #unsaid = 0
  #saidAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  get total(): number {
    return this.#total
  }

  add(count: number): void {
    this.#total += count
    this.#now += count
    this.#unsaid += count
    if (this.#clock.now() - this.#saidAt < REPORT_EVERY_MS) return
    this.#saidAt = this.#clock.now()
    writeLog(
      this.#log,
      'warn',
      { dropped: this.#unsaid, in_all: this.#total },
      'The ledger is slow or unavailable and the buffer is full: records of calls are dropped',
    )
    this.#unsaid = 0
  }

  over(): void {
    if (this.#now === 0) return
    writeLog(this.#log, 'info', { dropped: this.#now, in_all: this.#total }, 'Records of calls are no longer dropped')
    this.#now = 0
    this.#unsaid = 0
  }
}

/** A batch must not take the calling thread more than a few milliseconds. */
const BATCH_LIMIT = 2_000
const BATCH_BYTES_LIMIT = 4 * 1024 * 1024
/** The approximate size of an entry without its parameters. */
const ENTRY_BYTES = 400

type Entry = CallEntry | StoredRun | EventEntry | TurnEntry

interface EntryBatch {
  readonly calls: readonly CallEntry[]
  readonly runs: readonly StoredRun[]
  readonly events: readonly EventEntry[]
  readonly turns: readonly TurnEntry[]
  /** The number of calls, runs, events and turns. */
  readonly size: number
}

/** Entries that are not written yet, in order; limited in number and bytes. */
class WaitingEntries {
  readonly #maxEntries: number
  readonly #maxBytes: number
  readonly #entries: Entry[] = []
  readonly #sizes: number[] = []
  #bytes = 0

  constructor(maxEntries: number, maxBytes: number) {
    this.#maxEntries = maxEntries
    this.#maxBytes = maxBytes
  }

  get size(): number {
    return this.#entries.length
  }

  get fillsBatch(): boolean {
    return this.#entries.length >= BATCH_LIMIT || this.#bytes >= BATCH_BYTES_LIMIT
  }

  /** Whether at least half of the buffer is free. */
  get roomy(): boolean {
    return this.#entries.length * 2 <= this.#maxEntries && this.#bytes * 2 <= this.#maxBytes
  }

  /**
   * Returns false if the buffer is full. Calls and turns that budgets have set something aside for fit in all the same: their
   * cost must count. They are few, because budgets refuse calls while the store does not respond.
   */
  add(entry: Entry): boolean {
    const bytes = isRun(entry)
      ? 2 * JSON.stringify(entry).length
      : ENTRY_BYTES + 2 * ((('params' in entry && entry.params?.length) || 0) + payloadLength(entry))
    const most = 'hold' in entry && entry.hold !== undefined ? 2 : 1
    const isFull = this.#entries.length >= most * this.#maxEntries || this.#bytes + bytes > most * this.#maxBytes
    if (isFull) return false
    this.#entries.push(entry)
    this.#sizes.push(bytes)
    this.#bytes += bytes
    return true
  }

  /** The first entries, up to one batch; they stay until they are removed. */
  first(): EntryBatch {
    const calls: CallEntry[] = []
    const runs: StoredRun[] = []
    const events: EventEntry[] = []
    const turns: TurnEntry[] = []
    let size = 0
    for (let bytes = 0; size < BATCH_LIMIT && bytes < BATCH_BYTES_LIMIT; size++) {
      const entry = this.#entries[size]
      if (entry === undefined) break
      if (isRun(entry)) runs.push(entry)
      else if ('event' in entry) events.push(entry)
      else if ('turn' in entry) turns.push(entry)
      else calls.push(entry)
      bytes += this.#sizes[size] as number
    }
    return { calls, runs, events, turns, size }
  }

  remove(count: number): void {
    this.#entries.splice(0, count)
    for (const bytes of this.#sizes.splice(0, count)) this.#bytes -= bytes
  }
}

const payloadLength = (entry: Entry): number => ('payload' in entry && entry.payload?.content.length) || 0

const isRun = (entry: Entry): entry is StoredRun => 'steps' in entry
