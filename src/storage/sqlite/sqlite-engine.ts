import type { SQLInputValue } from 'node:sqlite'
import { pause } from '../../core/cancellation.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { Change, StorageStatus } from '../../core/storage/storage.ts'
import { type Answer, type Database, placeholders, type Statement, type Work } from '../sql/database.ts'
import { ALIVE_MS, ChangeListeners, type Engine, type StorageOptions } from '../sql/engine.ts'
import { sqlStores } from '../sql/sql-stores.ts'
import { migrate } from './migrations.ts'
import { isBusy, isFull, SqliteDatabase } from './sqlite-database.ts'
import { sqliteKnowledge } from './sqlite-knowledge.ts'

/** SQLite does not wait for the locks of processes that create the same file at the same time. */
const OPENING_MS = 10_000
const NO_VECTORS = 'sqlite-vec cannot be loaded on this machine: collections are searched by words only'

interface OpenSqlite {
  readonly log: Log
  readonly clock?: Clock
  /** Returns the path of sqlite-vec; the installed one by default. */
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
/** The size of the write-ahead log before a checkpoint. */
const MIN_FREE_BYTES = 16_777_216
const NO_ROOM = 'The disk of the data folder has less than 16 MB left: free some space'

/** The stores over a migrated database, which `close` closes, too. */
export function sqliteEngine(
  database: SqliteDatabase,
  options: StorageOptions,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Engine {
  const instances = new SqliteInstances(database, options, clock, log)
  const changes = new SqliteChanges(database, log)
  const { sweep, ...stores } = sqlStores(new SqliteStatements(database, instances, changes), clock, options.keepDays)
  const knowledge = sqliteKnowledge(database, { clock, log })
  const reserve = (): void => {
    if (database.freeBytes() >= MIN_FREE_BYTES) database.reserve()
  }
  reserve()
  const sweeper = setInterval(async () => {
    try {
      await sweep()
      knowledge.clean()
      reserve()
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
        // Only a write shows that the file is writable. A small one may succeed on an almost full disk.
        instances.beat()
        if (database.freeBytes() < MIN_FREE_BYTES) return { ...status, ready: false, problem: NO_ROOM }
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

/** Reading this many audit rows takes about 20 ms. */
const SLICE_ROWS = 20_000

/** Runs the statements of the stores on SQLite. Each transaction runs without a pause in this thread. */
export class SqliteStatements implements Database {
  readonly names: readonly string[]
  readonly sliceRows: number
  readonly #database: SqliteDatabase
  readonly #instances: Pick<SqliteInstances, 'names' | 'deadBefore'>
  readonly #changes: Pick<SqliteChanges, 'write'>
  readonly #translated = new Map<string, { readonly text: string; readonly reads: boolean }>()

  constructor(
    database: SqliteDatabase,
    instances: Pick<SqliteInstances, 'names' | 'deadBefore'>,
    changes: Pick<SqliteChanges, 'write'>,
    sliceRows: number = SLICE_ROWS,
  ) {
    this.names = instances.names
    this.sliceRows = sliceRows
    this.#database = database
    this.#instances = instances
    this.#changes = changes
  }

  async run<Row>(sql: string, values: readonly unknown[] = []): Promise<Answer<Row>> {
    return this.#run<Row>({ sql, values })
  }

  async transaction<T>(work: () => Work<T>): Promise<T> {
    return this.#database.write(() => this.#work(work()))
  }

  async change<T>(topic: Change, work: () => Work<T>, urgent = false): Promise<T> {
    const write = (): T => this.#changes.write(topic, () => this.#work(work()))
    return urgent ? this.#database.urgently(write) : write()
  }

  alive(column: string): Statement {
    const sql = [
      'EXISTS (SELECT 1 FROM instances WHERE instances.instance =',
      column,
      'AND instances.seen_at >= ?)',
    ].join(' ')
    return { sql, values: [this.#instances.deadBefore()] }
  }

  insert(
    table: string,
    columns: Readonly<Record<string, string>>,
    rows: readonly (readonly unknown[])[],
    onConflict = '',
  ): Statement {
    const names = Object.keys(columns)
    const into = ['INSERT INTO', table, '(', names.join(', '), ') VALUES']
    return { sql: [...into, placeholders(names), onConflict].join(' '), values: [], rows }
  }

  remove(table: string, column: string, texts: readonly string[]): Statement {
    return {
      sql: ['DELETE FROM', table, 'WHERE', column, '= ?'].join(' '),
      values: [],
      rows: texts.map((text) => [text]),
    }
  }

  #work<T>(work: Work<T>): T {
    let next = work.next()
    while (!next.done) next = work.next(this.#run<never>(next.value))
    return next.value
  }

  #run<Row>({ sql, values, rows: inserted }: Statement): Answer<Row> {
    let translated = this.#translated.get(sql)
    if (translated === undefined) {
      translated = { text: sql.replaceAll('toolyard.', ''), reads: /^\s*SELECT|\bRETURNING\b/.test(sql) }
      this.#translated.set(sql, translated)
    }
    const { text, reads } = translated
    if (inserted !== undefined) {
      const statement = this.#database.statement(text)
      for (const row of inserted) statement.run(...(row as SQLInputValue[]))
      return { rows: [], count: inserted.length }
    }
    if (!reads) return { rows: [], count: this.#database.run(text, ...(values as SQLInputValue[])) }
    const rows = this.#database.all<Row>(text, ...(values as SQLInputValue[]))
    return { rows, count: rows.length }
  }
}

/** Instances that were not seen for this long are removed. */
const FORGOTTEN_MS = 86_400_000

/** Sends heartbeats of this instance, and knows which others are alive. */
export class SqliteInstances {
  /** The names of this process, the current one first. */
  readonly names: readonly string[]
  readonly #database: SqliteDatabase
  readonly #clock: Clock
  readonly #log: Log
  readonly #aliveMs: number
  readonly #timer: NodeJS.Timeout
  #beatAt = 0
  #failing = false

  constructor(database: SqliteDatabase, options: StorageOptions, clock: Clock, log: Log) {
    this.#database = database
    this.#clock = clock
    this.#log = log
    this.names = [options.instance, ...(options.formerly ?? [])]
    this.#aliveMs = options.aliveMs ?? ALIVE_MS
    this.#try(isFull)
    this.#timer = setInterval(() => this.#try(), this.#aliveMs / 5).unref()
  }

  /** Instances that were last seen before this time are dead. Sends a heartbeat first if one is due. */
  deadBefore(): number {
    const now = this.#clock.wall()
    if (Math.abs(now - this.#beatAt) >= this.#aliveMs / 5) this.beat()
    return now - this.#aliveMs
  }

  beat(): void {
    const now = this.#clock.wall()
    this.#database.write(() => {
      for (const name of this.names) {
        this.#database.run(
          `INSERT INTO instances (instance, seen_at) VALUES (?, ?)
           ON CONFLICT (instance) DO UPDATE SET seen_at = excluded.seen_at`,
          name,
          now,
        )
      }
      this.#database.run('DELETE FROM instances WHERE seen_at < ?', now - FORGOTTEN_MS)
    })
    this.#beatAt = now
  }

  /** Removes this instance, so that others notice at once. */
  close(): void {
    clearInterval(this.#timer)
    try {
      for (const name of this.names) this.#database.run('DELETE FROM instances WHERE instance = ?', name)
    } catch (err) {
      writeLog(this.#log, 'warn', { err }, 'The shutdown could not be recorded: other servers notice it later')
    }
  }

  /** On a full disk the store still opens, so that keys can be revoked. */
  #try(isTolerable: (error: unknown) => boolean = () => true): void {
    try {
      this.beat()
      this.#failing = false
    } catch (err) {
      if (!isTolerable(err)) throw err
      // Logged once, not every two seconds.
      if (!this.#failing)
        writeLog(this.#log, 'error', { err }, 'The store cannot be written: other servers may consider this one dead')
      this.#failing = true
    }
  }
}

const LOOK_EVERY_MS = 500

/** Notifies listeners of changes: own ones at once, those of other processes by polling. */
export class SqliteChanges {
  readonly #database: SqliteDatabase
  readonly #log: Log
  readonly #listeners: ChangeListeners
  readonly #timer: NodeJS.Timeout
  readonly #seen = new Map<Change, number>()
  #dataVersion: number

  constructor(database: SqliteDatabase, log: Log) {
    this.#database = database
    this.#log = log
    this.#listeners = new ChangeListeners(log)
    this.#dataVersion = this.#readDataVersion()
    for (const { topic, version } of this.#versions()) this.#seen.set(topic, version)
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref()
  }

  /** Runs a transaction, and notifies all processes of the change. */
  write<T>(topic: Change, work: () => T): T {
    let version = 0
    const value = this.#database.write(() => {
      const given = work()
      const row = this.#database.get<{ version: number }>(
        `INSERT INTO changes (topic, version) VALUES (?, 1)
         ON CONFLICT (topic) DO UPDATE SET version = version + 1 RETURNING version`,
        topic,
      )
      version = row?.version ?? 0
      return given
    })
    // Also covers a change of another process in between.
    this.#seen.set(topic, version)
    this.#listeners.tell(topic)
    return value
  }

  onChange(listener: (change: Change) => void): () => void {
    return this.#listeners.add(listener)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#listeners.clear()
  }

  #look(): void {
    try {
      const dataVersion = this.#readDataVersion()
      if (dataVersion === this.#dataVersion) return
      for (const { topic, version } of this.#versions()) {
        if (this.#seen.get(topic) === version) continue
        this.#seen.set(topic, version)
        this.#listeners.tell(topic)
      }
      this.#dataVersion = dataVersion
    } catch (err) {
      writeLog(this.#log, 'warn', { err }, 'Changes in the store could not be read')
    }
  }

  /** Changes with every write of another connection. */
  #readDataVersion(): number {
    return this.#database.get<{ data_version: number }>('PRAGMA data_version')?.data_version ?? 0
  }

  #versions(): readonly { readonly topic: Change; readonly version: number }[] {
    return this.#database.all('SELECT topic, version FROM changes')
  }
}
