import { DOCS, OWN_TENANT } from '../../core/storage/knowledge-store.ts'
import type { Database, Statement } from './database.ts'
import { TABLES } from './sql-stores.ts'

export type CopyRow = Readonly<Record<string, unknown>>

/** A table that is copied, in the form that both engines share. */
export interface CopyTable {
  /** The columns, each with the expression that reads it from the table `t`. */
  readonly columns: Readonly<Record<string, string>>
  /** The primary key. */
  readonly key: readonly string[]
  /** Whether rows may have megabytes. */
  readonly large: boolean
}

/** One of the two stores of a copy. Opening it registers no server. */
export interface CopySide {
  /** The data folder, or the host and the name of the database. Contains no password. */
  readonly place: string
  /** The data folder of an embedded store. */
  readonly folder: string | undefined
  readonly database: Database
  /** Whether vectors can be stored. */
  readonly vectors: boolean
  readonly tables: ReadonlyMap<string, CopyTable>
  /** A condition: the version `v` of a document was not removed. */
  readonly live: string
  /** Writes rows in one transaction, with what is derived from them. Replaces rows with the same key. */
  write(table: string, rows: readonly CopyRow[]): Promise<void>
  /** Called after the last row. */
  finish(): Promise<void>
  close(): Promise<void>
}

export interface CopyChunk extends CopyRow {
  readonly id: number
  readonly collection: number
  readonly part: number
  readonly position: number
  readonly start_at: number
  readonly end_at: number
  readonly heading: string
  readonly text: string
  readonly vector: Float32Array | undefined
}

/** Columns that the engines derive. Removed collections are not copied, so none is marked as such. */
const DERIVED: ReadonlySet<string> = new Set(['knowledge_collections.gone', 'knowledge_chunks.words'])

export interface ColumnRow {
  readonly table: string
  readonly name: string
  /** The place in the primary key. */
  readonly place: number | null
}

/** The tables in these columns of a database. `read` has the expressions of columns that the engines store differently. */
export function copyTables(
  rows: readonly ColumnRow[],
  read: Readonly<Record<string, Readonly<Record<string, string>>>>,
): ReadonlyMap<string, CopyTable> {
  const tables = Map.groupBy(rows, ({ table }) => table)
  for (const { name, copied } of TABLES) if (copied === false) tables.delete(name)
  return new Map(
    [...tables].map(([table, columns]) => {
      const stored = columns.map(({ name }) => name).filter((name) => !DERIVED.has(`${table}.${name}`))
      const plain = Object.fromEntries(stored.map((name) => [name, `t.${name}`]))
      const key = columns.filter(({ place }) => place !== null).sort((a, b) => Number(a.place) - Number(b.place))
      const large = TABLES.some((known) => known.name === table && known.large)
      return [table, { columns: { ...plain, ...read[table] }, key: key.map(({ name }) => name), large }]
    }),
  )
}

/** The clause that replaces a row with the same key. */
export function replaceRow({ columns, key }: Pick<CopyTable, 'columns' | 'key'>): string {
  const others = Object.keys(columns).filter((name) => !key.includes(name))
  const update = others.map((name) => `${name} = excluded.${name}`).join(', ')
  return ['ON CONFLICT (', key.join(', '), ') DO', others.length > 0 ? `UPDATE SET ${update}` : 'NOTHING'].join(' ')
}

/** Every server stores Toolyard's own docs itself. */
const isCopied = (c: string): string =>
  `NOT ${c}.gone AND NOT (${c}.tenant = '${OWN_TENANT}' AND ${c}.name = '${DOCS}')`

/** The rows of a table that are copied at this time, as the end of a SELECT. */
export function copiedRows({ live }: Pick<CopySide, 'live'>, table: string, now: number): Statement {
  const join = 'JOIN toolyard.knowledge_collections AS c ON c.id = v.collection WHERE'
  const version = [
    'EXISTS (SELECT 1 FROM toolyard.knowledge_versions AS v',
    join,
    isCopied('c'),
    'AND',
    live,
    'AND v.id =',
  ]
  const conditions: Readonly<Record<string, readonly string[]>> = {
    knowledge_collections: [isCopied('t')],
    knowledge_versions: [...version, 't.id)'],
    knowledge_parts: [...version, 't.version)'],
    knowledge_chunks: [...version, '(SELECT p.version FROM toolyard.knowledge_parts AS p WHERE p.id = t.part))'],
  }
  const copied = TABLES.find(({ name }) => name === table)?.copied || 'true'
  const sql = ['FROM', `toolyard.${table}`, 'AS t WHERE', ...(conditions[table] ?? [copied])].join(' ')
  return { sql, values: copied.includes('?') ? [now] : [] }
}
