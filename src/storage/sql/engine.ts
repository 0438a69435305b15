import { type Log, writeLog } from '../../core/log.ts'
import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import type { LeaseStore } from '../../core/storage/lease-store.ts'
import type { Ledger } from '../../core/storage/ledger.ts'
import type { Change, StorageStatus } from '../../core/storage/storage.ts'
import type { LedgerTables } from '../ledger/ledger-tables.ts'
import type { Stores } from './sql-stores.ts'

/** Values must be plain data, because the store may run in another thread. Every query for contents names its tenant. */
export interface Storage extends Stores {
  readonly ledger: Ledger
  /** Full text only if `StorageStatus.vectors` is false. */
  readonly knowledge: KnowledgeStore
  readonly leases?: LeaseStore
  /** Calls back within a second of a change by anyone. Returns a function that stops it. */
  onChange(listener: (change: Change) => void): () => void
  status(): Promise<StorageStatus>
  /** Seals this instance's audit chain and writes pending data. */
  close(): Promise<void>
}

/** A database with all stores but the ledger, which is the same for every engine. */
export interface Engine extends Omit<Storage, 'ledger'> {
  readonly tables: LedgerTables
}

/** How to open a store. Plain data, since it may be opened in another thread. */
export interface StorageOptions {
  /** `postgres://…`; without it the store is a file in `folder`. */
  readonly url?: string
  /** The data folder. */
  readonly folder: string
  /** The name of this process among all that use the store; new at every start. */
  readonly instance: string
  /** Earlier names of this process, from before its storage thread was restarted. They are alive as long as it is. */
  readonly formerly?: readonly string[]
  /** `TOOLYARD_AUDIT_KEY`; by default a key is created at the first start and stored. */
  readonly auditKey?: string
  /** `TOOLYARD_AUDIT_HEADS`: a file that gets the end of every sealed section of the audit log. */
  readonly headsFile?: string
  /** How long runs and figures are stored, and audit rows unless `auditDays` is longer. */
  readonly keepDays: number
  readonly auditDays?: number
  /** The longest window of an objective, for which the figures of calls are stored. */
  readonly objectiveDays?: number
  /** An instance without a heartbeat for this long counts as dead: 10 s. Heartbeats are five times as frequent. */
  readonly aliveMs?: number
}

/** The default of `aliveMs`. */
export const ALIVE_MS = 10_000

/** The listeners for changes of a store. */
export class ChangeListeners {
  readonly #log: Log
  readonly #listeners = new Set<(change: Change) => void>()

  constructor(log: Log) {
    this.#log = log
  }

  /** Returns the way to remove the listener, which may be added several times. */
  add(listener: (change: Change) => void): () => void {
    const own = (change: Change) => listener(change)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  tell(change: Change): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(change)
      } catch (err) {
        writeLog(this.#log, 'error', { err, change }, 'A listener for changes in the store failed')
      }
    }
  }

  clear(): void {
    this.#listeners.clear()
  }
}
