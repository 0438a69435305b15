import type { Change } from '../../core/storage/storage.ts'
import { replaceNul } from '../nul.ts'
import type { Answer, Database, Statement, Work } from '../sql/database.ts'
import type { Presence } from './heartbeat.ts'
import type { PostgresDatabase } from './postgres-database.ts'

/** Changes are rare: all of them wait for one lock, so that none is lost. */
const LOCK = 'SELECT pg_advisory_xact_lock(7203)'
const NOTIFY = "SELECT pg_notify('toolyard', $1)"

/** Runs the statements of the stores on PostgreSQL. */
export class PostgresStatements implements Database {
  readonly names: readonly string[]
  readonly sliceRows = undefined
  readonly #database: PostgresDatabase
  readonly #presence: Presence
  readonly #translated = new Map<string, string>()

  constructor(database: PostgresDatabase, presence: Presence) {
    this.names = presence.names
    this.#database = database
    this.#presence = presence
  }

  run<Row>(sql: string, values: readonly unknown[] = [], limitMs?: number): Promise<Answer<Row>> {
    const text = this.#translate(sql)
    if (limitMs === undefined) return this.#database.run<Row>(text, values)
    return this.#database.transaction((statements) => statements.run<Row>(text, values), limitMs)
  }

  transaction<T>(work: () => Work<T>, limitMs?: number): Promise<T> {
    return this.#database.transaction(async (statements) => {
      const steps = work()
      let next = steps.next()
      while (!next.done) {
        const { sql, values } = next.value
        next = steps.next(await statements.run<never>(this.#translate(sql), values))
      }
      return next.value
    }, limitMs)
  }

  change<T>(topic: Change, work: () => Work<T>): Promise<T> {
    return this.transaction(function* () {
      yield { sql: LOCK, values: [] }
      const value = yield* work()
      yield { sql: NOTIFY, values: [topic] }
      return value
    })
  }

  alive(column: string): Statement {
    return { sql: `toolyard.is_alive(${column}, ?, ?)`, values: [this.#presence.instance, this.#presence.aliveMs] }
  }

  *insert(
    table: string,
    columns: Readonly<Record<string, string>>,
    rows: readonly (readonly unknown[])[],
    onConflict = '',
  ): Generator<Statement> {
    if (rows.length === 0) return
    const arrays = Object.values(columns).map((type) => `?::${type}[]`)
    const into = ['INSERT INTO', table, '(', Object.keys(columns).join(', '), ')']
    yield {
      sql: [...into, 'SELECT * FROM unnest(', arrays.join(', '), ')', onConflict].join(' '),
      values: Object.values(columns).map((_, index) => rows.map((row) => columnValue(row[index]))),
    }
  }

  #translate(sql: string): string {
    let text = this.#translated.get(sql)
    if (text === undefined) {
      let count = 0
      text = sql.replaceAll('?', () => `$${++count}`)
      this.#translated.set(sql, text)
    }
    return text
  }
}

function columnValue(value: unknown): unknown {
  if (typeof value === 'string') return replaceNul(value)
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return value
}
