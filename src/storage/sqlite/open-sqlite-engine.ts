import { type Clock, systemClock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { pause } from '../../core/pause.ts'
import type { Engine } from '../engine.ts'
import type { StorageOptions } from '../storage-options.ts'
import { migrate } from './migrate.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { sqliteEngine } from './sqlite-engine.ts'
import { isBusy } from './sqlite-error.ts'

/** Some locks are not waited for by SQLite itself: those of processes that make the same file at the same time. */
const OPENING_MS = 10_000

/** Opens the embedded store: `toolyard.db` in the data folder. */
export async function openSqliteEngine(
  options: StorageOptions,
  { log, clock = systemClock }: { readonly log: Log; readonly clock?: Clock },
): Promise<Engine> {
  const until = Date.now() + OPENING_MS
  for (;;) {
    let database: SqliteDatabase | undefined
    try {
      database = new SqliteDatabase(options.folder)
      migrate(database)
      return sqliteEngine(database, options, { log, clock })
    } catch (error) {
      database?.close()
      if (!isBusy(error) || Date.now() > until) throw error
      await pause(20, systemClock)
    }
  }
}
