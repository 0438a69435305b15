import type { Clock } from '../../core/clock.ts'
import { chats } from './chats.ts'
import { connections } from './connections.ts'
import { DAY_MS, type Database, type StoreEntry } from './database.ts'
import { durableRuns } from './durable-runs.ts'
import { items } from './items.ts'
import { jobs } from './jobs.ts'
import { keys, sessions } from './keys.ts'
import { once } from './once.ts'
import { pauses } from './pauses.ts'
import { payloadTable, sweepPayloads } from './payloads.ts'
import { runs, toolUse, validations } from './runs.ts'
import { settings } from './settings.ts'
import { spending } from './spending.ts'
import { SqlLedgerTables } from './sql-ledger-tables.ts'
import type { Table } from './table.ts'
import { OTHER_TABLES } from './tables.ts'

/** The stores that are the same on both engines, in the order in which expired rows are removed. */
const STORES = {
  runs,
  validations,
  toolUse,
  settings,
  once,
  jobs,
  chats,
  items,
  pauses,
  durableRuns,
  spending,
  connections,
  sessions,
  keys,
}

/** All tables. */
export const TABLES: readonly Table[] = [
  ...Object.values(STORES).flatMap(({ tables }) => tables),
  payloadTable,
  ...OTHER_TABLES,
]

type Entries = typeof STORES
export type Stores = { readonly [name in keyof Entries]: Entries[name] extends StoreEntry<infer Port> ? Port : never }

/** Opens the stores over a database; `sweep` removes what has expired. */
export function sqlStores(database: Database, clock: Clock, keepDays: number) {
  const opened = Object.entries(STORES).map(([name, store]) => [name, store.open(database, clock, TABLES)] as const)
  return {
    ...(Object.fromEntries(opened) as unknown as Stores),
    tables: new SqlLedgerTables(database),
    async sweep(): Promise<void> {
      const now = clock.wall()
      const expiry = { now, before: now - keepDays * DAY_MS }
      for (const [, store] of opened) await store.sweep?.(expiry)
      await sweepPayloads(database, expiry)
    },
  }
}
