import type { SQLInputValue } from 'node:sqlite'
import type { Change } from '../../core/storage/storage.ts'
import type { Answer, Database, Statement, Work } from '../sql/database.ts'
import { placeholders } from '../sql/database.ts'
import type { SqliteChanges } from './sqlite-changes.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import type { SqliteInstances } from './sqlite-instances.ts'

/** Reading this many audit rows takes about 20 ms. */
const SLICE_ROWS = 20_000
/** Rows per INSERT statement. */
const ROWS_PER_INSERT = 10

/** Runs the statements of the stores on SQLite. Each transaction runs without a pause in this thread. */
export class SqliteStatements implements Database {
  readonly names: readonly string[]
  readonly sliceRows: number
  readonly #database: SqliteDatabase
  readonly #instances: SqliteInstances
  readonly #changes: SqliteChanges
  readonly #translated = new Map<string, { readonly text: string; readonly reads: boolean }>()

  constructor(
    database: SqliteDatabase,
    instances: SqliteInstances,
    changes: SqliteChanges,
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

  async change<T>(topic: Change, work: () => Work<T>): Promise<T> {
    return this.#changes.write(topic, () => this.#work(work()))
  }

  alive(column: string): Statement {
    const sql = [
      'EXISTS (SELECT 1 FROM instances WHERE instances.instance =',
      column,
      'AND instances.seen_at >= ?)',
    ].join(' ')
    return { sql, values: [this.#instances.deadBefore()] }
  }

  *insert(
    table: string,
    columns: Readonly<Record<string, string>>,
    rows: readonly (readonly unknown[])[],
    onConflict = '',
  ): Generator<Statement> {
    const names = Object.keys(columns)
    const into = ['INSERT INTO', table, '(', names.join(', '), ') VALUES']
    const text = (count: number) => [...into, Array(count).fill(placeholders(names)).join(', '), onConflict].join(' ')
    const many = text(ROWS_PER_INSERT)
    const whole = rows.length - (rows.length % ROWS_PER_INSERT)
    for (let index = 0; index < whole; index += ROWS_PER_INSERT) {
      yield { sql: many, values: rows.slice(index, index + ROWS_PER_INSERT).flat() }
    }
    const one = text(1)
    for (const values of rows.slice(whole)) yield { sql: one, values }
  }

  #work<T>(work: Work<T>): T {
    let next = work.next()
    while (!next.done) next = work.next(this.#run<never>(next.value))
    return next.value
  }

  #run<Row>({ sql, values }: Statement): Answer<Row> {
    let translated = this.#translated.get(sql)
    if (translated === undefined) {
      translated = { text: sql.replaceAll('toolyard.', ''), reads: /^\s*SELECT|\bRETURNING\b/.test(sql) }
      this.#translated.set(sql, translated)
    }
    const { text, reads } = translated
    if (!reads) return { rows: [], count: this.#database.run(text, ...(values as SQLInputValue[])) }
    const rows = this.#database.all<object>(text, ...(values as SQLInputValue[])).map((row) => ({ ...row }) as Row)
    return { rows, count: rows.length }
  }
}
