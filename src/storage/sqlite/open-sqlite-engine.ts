import { type Clock, systemClock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { pause } from '../../core/pause.ts'
import type { Engine } from '../engine.ts'
import type { StorageOptions } from '../storage-options.ts'
import { migrate } from './migrate.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { sqliteEngine } from './sqlite-engine.ts'
import { isBusy } from './sqlite-error.ts'

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
