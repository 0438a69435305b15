import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../src/storage/sqlite/migrations.ts'
import { SqliteDatabase } from '../../src/storage/sqlite/sqlite-database.ts'

/** Modules are loaded again for each test file of a worker, the global object stays. */
const MADE = Symbol.for('toolyard.test.sqlite-template')

/** An empty database with all tables. */
function template(): Buffer {
  const made: Record<symbol, Buffer | undefined> = globalThis as never
  made[MADE] ??= createTemplate()
  return made[MADE]
}

function createTemplate(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'toolyard-template-'))
  const database = new SqliteDatabase(folder)
  migrate(database)
  database.close()
  const bytes = readFileSync(join(folder, 'toolyard.db'))
  rmSync(folder, { recursive: true })
  return bytes
}

/**
 * Puts an empty database in the folder of a new store: creating the tables is the longest part of opening one. The tests
 * in src/storage create them.
 */
export function putTemplate(folder: string): void {
  const file = join(folder, 'toolyard.db')
  if (existsSync(file)) return
  const bytes = template()
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(file, bytes, { mode: 0o600, flag: 'wx' })
  } catch {
    // The store says what is wrong with the folder.
  }
}
