import { type Log, writeLog } from '../../core/log.ts'
import type { Change } from '../../core/storage/storage.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

const LOOK_EVERY_MS = 500

/** Tells of changes: own ones at once, those of other processes when it looks next. */
export class SqliteChanges {
  readonly #database: SqliteDatabase
  readonly #log: Log
  readonly #listeners = new Set<(change: Change) => void>()
  readonly #timer: NodeJS.Timeout
  readonly #seen = new Map<Change, number>()
  #dataVersion: number

  constructor(database: SqliteDatabase, log: Log) {
    this.#database = database
    this.#log = log
    this.#dataVersion = this.#readDataVersion()
    for (const { topic, version } of this.#versions()) this.#seen.set(topic, version)
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref()
  }

  /** Writes something that others want to hear of. */
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
    // Where another process has changed something in between, this news is theirs too.
    this.#seen.set(topic, version)
    this.#tell(topic)
    return value
  }

  onChange(listener: (change: Change) => void): () => void {
    const own = (change: Change) => listener(change)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
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
        this.#tell(topic)
      }
      this.#dataVersion = dataVersion
    } catch (err) {
      writeLog(this.#log, 'warn', { err }, 'Changes in the store could not be looked for')
    }
  }

  #tell(topic: Change): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(topic)
      } catch (err) {
        writeLog(this.#log, 'error', { err, change: topic }, 'A change in the store could not be taken up')
      }
    }
  }

  /** Grows with every write of another connection, and costs no look at the file's contents. */
  #readDataVersion(): number {
    return this.#database.get<{ data_version: number }>('PRAGMA data_version')?.data_version ?? 0
  }

  #versions(): readonly { readonly topic: Change; readonly version: number }[] {
    return this.#database.all('SELECT topic, version FROM changes')
  }
}
