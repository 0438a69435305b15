import type { Storage } from '../core/storage/storage.ts'
import type { LedgerTables } from './ledger/ledger-tables.ts'

/** A database behind the ports: everything but the ledger, which is the same over every engine. */
export interface Engine extends Omit<Storage, 'ledger'> {
  readonly tables: LedgerTables
}

/** How a store is opened: plain data, since it may be opened in another thread. */
export interface StorageOptions {
  /** `postgres://…`; without it the store is a file in `folder`. */
  readonly url?: string
  /** The data folder. */
  readonly folder: string
  /** Names this process among all that use the store; a new one at every start. */
  readonly instance: string
  /** Names under which this process wrote before its storage thread was started again: they live as long as it does. */
  readonly formerly?: readonly string[]
  /** `TOOLYARD_AUDIT_KEY`, where it is set; else a key is made at the first start and kept. */
  readonly auditKey?: string
  /** How long audit rows, runs and figures are kept. */
  readonly keepDays: number
  /** An instance that was not seen for so long counts as dead: 10 s. It shows itself five times as often. */
  readonly aliveMs?: number
}

/** What `aliveMs` is where nothing is said. */
export const ALIVE_MS = 10_000
