import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { ALIVE_MS, type StorageOptions } from '../engine.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

/** An instance that nobody has seen for so long is forgotten. */
const FORGOTTEN_MS = 86_400_000

/** Shows the others that this instance lives, and tells which of them do. */
export class SqliteInstances {
  /** The names that this process has, its own first. */
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
    this.beat()
    this.#timer = setInterval(() => this.#try(), this.#aliveMs / 5).unref()
  }

  /** Who was last seen before this is dead. This instance lives: it shows itself first where that is due. */
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

  /** Says goodbye, so that nobody waits for this instance to be missed. */
  close(): void {
    clearInterval(this.#timer)
    try {
      for (const name of this.names) this.#database.run('DELETE FROM instances WHERE instance = ?', name)
    } catch (err) {
      writeLog(this.#log, 'warn', { err }, 'The others find out by its silence that this server has ended')
    }
  }

  #try(): void {
    try {
      this.beat()
      this.#failing = false
    } catch (err) {
      // Said once, not every two seconds.
      if (!this.#failing)
        writeLog(this.#log, 'error', { err }, 'The store cannot be written: others may take this server for dead')
      this.#failing = true
    }
  }
}
