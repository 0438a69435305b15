import type { CallEntry } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'

/** What is handed to the ledger at once: no more than the calling thread packs in a few milliseconds. */
const MOST_IN_BATCH = 2_000
const MOST_BYTES_IN_BATCH = 4 * 1024 * 1024
/** What an entry takes besides its parameters, about. */
const ENTRY_BYTES = 400

export interface EntryBatch {
  readonly calls: readonly CallEntry[]
  readonly runs: readonly StoredRun[]
  /** How many there are of both. */
  readonly size: number
}

/** Calls and runs that are not written yet, in the order they came; bounded in number and in bytes. */
export class WaitingEntries {
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
