import type { Storage } from '../core/storage/storage.ts'
import type { LedgerTables } from './ledger/ledger-tables.ts'

/** A database behind the ports: everything but the ledger, which is the same over every engine. */
export interface Engine extends Omit<Storage, 'ledger'> {
  readonly tables: LedgerTables
}
