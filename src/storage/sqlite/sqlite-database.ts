import { randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { getLoadablePath } from 'sqlite-vec'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { refuseNul } from '../ledger/storable-text.ts'

const FILE = 'toolyard.db'
/** Space for urgent writes: for the write-ahead log, and pages of the database itself. */
const RESERVE_FILE = 'toolyard.reserve'
const RESERVE_BYTES = 262_144
const RESERVE_PAGES_BYTES = 65_536
/** How long a statement waits for another process. */
const BUSY_MS = 5_000
/** Prepared statements: some contain the name of a collection's table, so there may be many. */
const READY_STATEMENTS = 256

type Row = readonly SQLOutputValue[]

/** The rows as plain objects. Those that node:sqlite makes are slow to read and to copy. */
function objectsOf(statement: StatementSync, rows: readonly Row[]): Record<string, SQLOutputValue>[] {
  if (rows.length === 0) return []
  const names = statement.columns().map(({ name }) => name)
  return rows.map((row) => {
    const object: Record<string, SQLOutputValue> = {}
    for (let index = 0; index < names.length; index++) object[names[index] as string] = row[index] as SQLOutputValue
    return object
  })
}

/**
 * A synchronous connection to the file. With a write-ahead log, others read while one writes; with
 * `synchronous = FULL` a committed transaction survives a crash of the process and of the machine.
 */
export class SqliteDatabase {
  readonly name = FILE
  /** Whether sqlite-vec is loaded. */
  readonly vectors: boolean
  readonly #folder: string
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  /** `extension` returns the path of sqlite-vec, and throws if there is none for this platform. */
  constructor(folder: string, busyMs = BUSY_MS, extension: () => string = getLoadablePath) {
    this.#folder = folder
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const path = join(folder, FILE)
      createPrivate(path)
      this.#database = new DatabaseSync(path, { timeout: busyMs, allowExtension: true })
    } catch (error) {
      throw unusable(error)
    }
    this.vectors = load(this.#database, extension)
    try {
      this.exec(`
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = FULL;
        PRAGMA wal_autocheckpoint = 4000;
        PRAGMA journal_size_limit = 67108864;
        PRAGMA cache_size = -32768;
        PRAGMA temp_store = MEMORY;
      `)
    } catch (error) {
      this.close()
      throw error
    }
  }

  exec(sql: string): void {
    this.#try(() => this.#database.exec(sql))
  }

  get<T>(sql: string, ...values: SQLInputValue[]): T | undefined {
    refuseNul(values)
    return this.#try(() => {
      const statement = this.statement(sql)
      const row = statement.get(...values) as Row | undefined
      return row && (objectsOf(statement, [row])[0] as T)
    })
  }

  all<T>(sql: string, ...values: SQLInputValue[]): readonly T[] {
    refuseNul(values)
    return this.#try(() => {
      const statement = this.statement(sql)
      return objectsOf(statement, statement.all(...values) as unknown as Row[]) as T[]
    })
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number {
    refuseNul(values)
    return this.#try(() => Number(this.statement(sql).run(...values).changes))
  }

  /** Returns the id of the new row. */
  insert(sql: string, ...values: SQLInputValue[]): number {
    refuseNul(values)
    return this.#try(() => Number(this.statement(sql).run(...values).lastInsertRowid))
  }

  /** A prepared statement for use inside `write`, with values without NUL. */
  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      statement.setReturnArrays(true)
      // FTS5 leaves ids above 2^53 behind, with which `run` would throw on Node.js 26.
      if (statement.columns().length === 0) statement.setReadBigInts(true)
      for (const oldest of this.#statements.keys()) {
        if (this.#statements.size < READY_STATEMENTS) break
        this.#statements.delete(oldest)
      }
      this.#statements.set(sql, statement)
    }
    return statement
  }

  /** Runs a write transaction. Within another one it is part of it: a heartbeat may be due at any statement. */
  write<T>(work: () => T): T {
    if (this.#database.isTransaction) return this.#try(work)
    return this.#transaction('BEGIN IMMEDIATE', work)
  }

  /** Runs a read transaction. */
  read<T>(work: () => T): T {
    return this.#transaction('BEGIN', work)
  }

  /** Sets space aside for urgent writes, unless it is there already. */
  reserve(): void {
    const file = join(this.#folder, RESERVE_FILE)
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
    // Random, since some file systems store zeros without using space.
    if (size < RESERVE_BYTES) writeFileSync(file, randomBytes(RESERVE_BYTES), { mode: 0o600 })
    if (this.get('SELECT id FROM reserve') !== undefined) return
    this.run('INSERT INTO reserve (id, data) VALUES (1, zeroblob(?)) ON CONFLICT DO NOTHING', RESERVE_PAGES_BYTES)
  }

  /** Runs a write that must succeed on a full disk: then it gets the space that was set aside. */
  urgently<T>(write: () => T): T {
    try {
      return write()
    } catch (error) {
      if (!isFull(error)) throw error
      rmSync(join(this.#folder, RESERVE_FILE), { force: true })
      this.run('DELETE FROM reserve')
      const written = write()
      try {
        // The rest of the space is reserved for the next urgent write.
        this.reserve()
      } catch {
        // As expected, it isn't enough for a whole reserve.
      }
      return written
    }
  }

  freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#folder)
    return bavail * bsize
  }

  close(): void {
    this.#statements.clear()
    if (this.#database.isOpen) this.#database.close()
  }

  #transaction<T>(begin: string, work: () => T): T {
    return this.#try(() => {
      this.#database.exec(begin)
      try {
        const value = work()
        this.#database.exec('COMMIT')
        return value
      } catch (error) {
        // Some errors, such as a full disk, have ended the transaction already.
        if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
        throw error
      }
    })
  }

  #try<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw sqliteError(error, FILE)
    }
  }
}

/**
 * Creates the file if it doesn't exist. SQLite would make it readable for everybody; its other files get the mode of this one.
 * A file that exists is never opened here: closing it would release all locks that this process has on it.
 */
function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Everything else works without it. Afterwards no statement can load an extension. */
function load(database: DatabaseSync, extension: () => string): boolean {
  try {
    database.loadExtension(extension())
    return true
  } catch {
    return false
  } finally {
    database.enableLoadExtension(false)
  }
}

/** Does not name the folder: callers may see the message. */
function unusable(error: unknown): unknown {
  const { code } = Object(error) as { code?: unknown }
  if (code === 'ERR_SQLITE_ERROR') return sqliteError(error, FILE)
  const message = `The data folder cannot be used (${code}): make it writable for the server`
  return new ToolExecutionError('SERVICE_UNAVAILABLE', message, {}, { cause: error })
}

/** Result codes of SQLite, explained for the operator: https://sqlite.org/rescode.html. */
const MEANINGS: Readonly<Record<number, string>> = {
  5: 'is locked by another process: stop that process, or wait for it',
  6: 'is locked by another process: stop that process, or wait for it',
  8: 'cannot be written: make the data folder writable for the server',
  10: 'cannot be read or written: check the disk of the data folder',
  11: 'is damaged: restore a backup, or move it away to start with an empty store',
  13: 'cannot grow because the disk of the data folder is full: free some space',
  14: 'cannot be opened: make the data folder writable for the server',
  26: 'is not a database: restore a backup, or move it away to start with an empty store',
}

/** Violations of a primary key or a unique constraint. */
const TWICE: readonly number[] = [1555, 2067]

/** Converts errors of SQLite to messages that may be shown. */
function sqliteError(error: unknown, name: string): unknown {
  const { code, errcode } = Object(error) as { code?: unknown; errcode?: unknown }
  if (code === 'ERR_INVALID_STATE') return new ToolExecutionError('SERVICE_UNAVAILABLE', 'The store is closed')
  if (code !== 'ERR_SQLITE_ERROR' || typeof errcode !== 'number') return error
  if (TWICE.includes(errcode)) {
    return new ToolExecutionError(
      'INVALID_PARAMETERS',
      'The store already has an entry with that name',
      {},
      { cause: error },
    )
  }
  // The upper bits are the extended code.
  const meaning = MEANINGS[errcode & 0xff]
  if (meaning === undefined) return error
  return new ToolExecutionError('SERVICE_UNAVAILABLE', `${name} ${meaning}`, {}, { cause: error })
}

/** Whether another process holds the lock. */
export const isBusy = (error: unknown): boolean => [5, 6].includes(resultCode(error))

/** Whether the disk is full. */
export const isFull = (error: unknown): boolean => resultCode(error) === 13

function resultCode(error: unknown): number {
  const { errcode } = Object(Object(error).cause) as { errcode?: unknown }
  return typeof errcode === 'number' ? errcode & 0xff : 0
}
