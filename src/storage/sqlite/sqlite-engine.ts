import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { StorageStatus } from '../../core/storage/storage.ts'
import type { Engine } from '../engine.ts'
import type { StorageOptions } from '../storage-options.ts'
import { SqliteKnowledge } from './knowledge/sqlite-knowledge.ts'
import { SqliteChanges } from './sqlite-changes.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { SqliteInstances } from './sqlite-instances.ts'
import { SqliteJobs } from './sqlite-jobs.ts'
import { SqliteKeys } from './sqlite-keys.ts'
import { SqliteLedgerTables } from './sqlite-ledger-tables.ts'
import { SqliteOnce } from './sqlite-once.ts'
import { SqliteRuns } from './sqlite-runs.ts'
import { SqliteSettings } from './sqlite-settings.ts'
import { SqliteToolUse } from './sqlite-tool-use.ts'
import { SqliteValidations } from './sqlite-validations.ts'

const SWEEP_EVERY_MS = 60_000
const DAY_MS = 86_400_000
/** What the log of writes grows to before it is taken over into the file. */
const LEAST_FREE_BYTES = 16_777_216
const NO_ROOM = 'The disk of the data folder is full: free some space'

/** The ports over a database that is up to date; closing the one closes the other. */
export function sqliteEngine(
  database: SqliteDatabase,
  options: StorageOptions,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Engine {
  const instances = new SqliteInstances(database, options, clock, log)
  const changes = new SqliteChanges(database, log)
  const runs = new SqliteRuns(database)
  const once = new SqliteOnce(database, instances, clock)
  const jobs = new SqliteJobs(database, instances)
  const knowledge = new SqliteKnowledge(database, { clock, log })
  const sweeper = setInterval(() => {
    try {
      once.sweep()
      jobs.sweep(clock.wall() - options.keepDays * DAY_MS)
      knowledge.clean()
    } catch (err) {
      writeLog(log, 'warn', { err }, 'What is no longer needed could not be swept from the store')
    }
  }, SWEEP_EVERY_MS).unref()
  return {
    tables: new SqliteLedgerTables(database, instances, runs),
    runs,
    keys: new SqliteKeys(database, changes),
    settings: new SqliteSettings(database, changes),
    validations: new SqliteValidations(database, changes),
    toolUse: new SqliteToolUse(database, changes),
    once,
    jobs,
    knowledge,
    onChange: (listener) => changes.onChange(listener),
    async status(): Promise<StorageStatus> {
      const status = { engine: 'sqlite', ready: true, vectors: database.vectors } as const
      try {
        // Only a write shows that the file can be written. One so small may still find room where a batch does not.
        instances.beat()
        if (database.freeBytes() < LEAST_FREE_BYTES) return { ...status, ready: false, problem: NO_ROOM }
        return status
      } catch (error) {
        return { ...status, ready: false, problem: (error as Error).message }
      }
    },
    async close() {
      clearInterval(sweeper)
      knowledge.close()
      changes.close()
      instances.close()
      database.close()
    },
  }
}
