import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { migrations } from './migrations.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

/** Brings a database up to date. Of several processes that open it at once one does it, and the others wait. */
export function migrate(database: SqliteDatabase): void {
  if (versionOf(database) === migrations.length) return
  database.write(() => {
    const version = versionOf(database)
    if (version > migrations.length) {
      throw new ToolExecutionError(
        'SERVICE_UNAVAILABLE',
        `${database.name} was written by a newer version of Toolyard (its version is ${version}, this one knows up to ` +
          `${migrations.length}): use that version, or another data folder`,
      )
    }
    for (const migration of migrations.slice(version)) {
      if (typeof migration === 'string') database.exec(migration)
      else migration(database)
    }
    database.exec(['PRAGMA user_version =', migrations.length].join(' '))
  })
}

const versionOf = (database: SqliteDatabase): number =>
  Number(database.get<{ user_version: number }>('PRAGMA user_version')?.user_version)
