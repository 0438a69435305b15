import type { Clock } from '../../core/clock.ts'
import type { Engine } from '../engine.ts'
import type { Database } from './database.ts'
import { Keys, Settings } from './keys-and-settings.ts'
import { ToolUse, Validations } from './model-records.ts'
import { Jobs, Once } from './once-and-jobs.ts'
import { Runs } from './runs.ts'
import { SqlLedgerTables } from './sql-ledger-tables.ts'

const DAY_MS = 86_400_000

type Stores = Pick<Engine, 'tables' | 'runs' | 'keys' | 'settings' | 'validations' | 'toolUse' | 'once' | 'jobs'>

/** The stores that are the same on both engines; `sweep` removes what has expired. */
export function sqlStores(
  database: Database,
  clock: Clock,
  keepDays: number,
): Stores & { readonly sweep: () => Promise<void> } {
  const once = new Once(database, clock)
  const jobs = new Jobs(database)
  return {
    tables: new SqlLedgerTables(database),
    runs: new Runs(database),
    keys: new Keys(database),
    settings: new Settings(database),
    validations: new Validations(database),
    toolUse: new ToolUse(database),
    once,
    jobs,
    async sweep() {
      await once.sweep()
      await jobs.sweep(clock.wall() - keepDays * DAY_MS)
    },
  }
}
