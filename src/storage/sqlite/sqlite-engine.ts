import { type Clock, systemClock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { pause } from '../../core/pause.ts'
import type { StorageStatus } from '../../core/storage/storage.ts'
import type { Engine, StorageOptions } from '../engine.ts'
import { sqlStores } from '../sql/sql-stores.ts'
import { SqliteKnowledge } from './knowledge/sqlite-knowledge.ts'
import { migrate } from './migrate.ts'
import { SqliteChanges } from './sqlite-changes.ts'
import { isBusy, SqliteDatabase } from './sqlite-database.ts'
import { SqliteInstances } from './sqlite-instances.ts'
import { SqliteStatements } from './sqlite-statements.ts'

/** Some locks are not waited for by SQLite itself: those of processes that make the same file at the same time. */
const OPENING_MS = 10_000
const NO_VECTORS = 'sqlite-vec cannot be loaded on this machine: collections are searched by words only'

interface OpenSqlite {
  readonly log: Log
  readonly clock?: Clock
  /** Where the file of sqlite-vec is, where it is not the one that is installed. */
  readonly extension?: () => string
}

/** Opens the embedded store: `toolyard.db` in the data folder. */
export async function openSqliteEngine(
  options: StorageOptions,
  { log, clock = systemClock, extension }: OpenSqlite,
): Promise<Engine> {
  const until = Date.now() + OPENING_MS
  for (;;) {
    let database: SqliteDatabase | undefined
    try {
      database = new SqliteDatabase(options.folder, undefined, extension)
      migrate(database)
      const engine = sqliteEngine(database, options, { log, clock })
      if (!database.vectors) writeLog(log, 'warn', {}, NO_VECTORS)
      return engine
    } catch (error) {
      database?.close()
      if (!isBusy(error) || Date.now() > until) throw error
      await pause(20, systemClock)
    }
  }
}

const SWEEP_EVERY_MS = 60_000
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
  const { sweep, ...stores } = sqlStores(new SqliteStatements(database, instances, changes), clock, options.keepDays)
  const knowledge = new SqliteKnowledge(database, { clock, log })
  const sweeper = setInterval(async () => {
    try {
      await sweep()
      knowledge.clean()
    } catch (err) {
      writeLog(log, 'warn', { err }, 'Expired records could not be removed from the store')
    }
  }, SWEEP_EVERY_MS).unref()
  return {
    ...stores,
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
