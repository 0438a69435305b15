/** The types of SQLite and of PostgreSQL. */
const TYPES = {
  /** Text that is compared or sorted: both engines do so by its bytes. */
  id: ['TEXT', 'text COLLATE "C"'],
  text: ['TEXT', 'text'],
  /** Also times, in milliseconds since 1970. */
  real: ['REAL', 'double precision'],
  /** A whole number of milliseconds. */
  ms: ['INTEGER', 'double precision'],
  bigint: ['INTEGER', 'bigint'],
  integer: ['INTEGER', 'integer'],
  /** 0 or 1. */
  flag: ['INTEGER', 'smallint'],
  tokens: ['REAL', 'bigint'],
  bytes: ['BLOB', 'bytea'],
  /** Numbers the rows. Only as the primary key. */
  serial: ['INTEGER', 'bigint'],
} as const

type Type = keyof typeof TYPES

/** A type; `?` allows NULL. */
type TypeOf = Type | `${Type}?`

export type Column =
  | TypeOf
  | {
      readonly type: TypeOf
      readonly default?: string | number
      readonly unique?: true
      /** The version that added it to the table. */
      readonly since?: number
    }

/** The columns of an index, or more of it. */
export type Index =
  | string
  | {
      readonly on: string
      readonly unique?: true
      /** A condition in the SQL of both engines. */
      readonly where?: string
      /** Columns that are stored in the index so that queries don't read the table. */
      readonly include?: string
      readonly since?: number
    }

/** SQL of one engine or both. Tables are named with their schema (`toolyard.runs`), which SQLite leaves out. */
type Sql = string | Readonly<Record<EngineName, string>>

/** What a version changes besides creating what is described. A released step never changes. */
export interface Step {
  readonly before?: Sql
  readonly after?: Sql
}

/**
 * A table of both engines. New tables, columns and indexes name the next version in `since`. The layout of a released
 * version never changes.
 */
export interface Table {
  readonly name: string
  /** The version that created the table. Without it, the first layout of each engine did. */
  readonly since?: number
  /** Without columns, the engines describe the table themselves, because their first layouts differ. */
  readonly columns?: Readonly<Record<string, Column>>
  /** The columns of the primary key. */
  readonly key?: string
  readonly indexes?: Readonly<Record<string, Index>>
  /** Whether rows may have megabytes. */
  readonly large?: boolean
  /** Whether SQLite numbers the rows besides their key. Better for large rows, and the default for them. */
  readonly rowid?: boolean
  /**
   * False if copies of the store leave the table out, because it belongs to running servers or is derived; or which rows
   * `t` are copied. `?` stands for the time.
   */
  readonly copied?: false | string
  /** The columns whose texts may be encrypted. */
  readonly sealed?: Readonly<Record<string, Sealed>>
  /** By version. */
  readonly steps?: Readonly<Record<number, Step>>
}

/** What the texts of a column are encrypted for. */
interface Sealed {
  /** The parts of the place. */
  readonly place: string
  /** Begins the place. Without it, the place has one part. */
  readonly kind?: string
  /** Whether the text is stored as a JSON string. */
  readonly json?: true
  /** Which rows have encrypted texts. */
  readonly where?: string
}

export type EngineName = 'sqlite' | 'postgres'

/** The layouts of earlier versions are in the migrations of each engine. PostgreSQL numbers versions from one more. */
export const FIRST_SHARED = 8

/** The SQL of each version since `FIRST_SHARED`. */
export function sharedSteps(engine: EngineName, tables: readonly Table[]): readonly string[] {
  const last = Math.max(...tables.flatMap(versionsOf))
  return Array.from({ length: last - FIRST_SHARED + 1 }, (_, index) => stepSql(engine, tables, FIRST_SHARED + index))
}

/** The SQL that creates a table in its first version. */
export const creation = (engine: EngineName, table: Table): string =>
  textOf(engine, [createTable(engine, table), ...indexesOf(engine, table, undefined)])

/** The columns with their types in PostgreSQL. */
export const columnTypes = ({ columns = {} }: Table): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [name, typeOf('postgres', column).replace(' COLLATE "C"', '')]),
  )

function versionsOf({ since = 0, columns = {}, indexes = {}, steps = {} }: Table): number[] {
  const parts = [...Object.values(columns), ...Object.values(indexes)].map((part) => sinceOf(part) ?? 0)
  return [since, ...parts, ...Object.keys(steps).map(Number)]
}

function stepSql(engine: EngineName, tables: readonly Table[], version: number): string {
  const extra = (when: keyof Step) =>
    tables.flatMap(({ steps }) => {
      const sql = steps?.[version]?.[when] ?? []
      return typeof sql === 'object' && 'sqlite' in sql ? sql[engine] : sql
    })
  const changes = tables.flatMap((table) =>
    table.since === version
      ? [createTable(engine, table), ...indexesOf(engine, table, undefined)]
      : [...addedColumns(engine, table, version), ...indexesOf(engine, table, version)],
  )
  return textOf(engine, [...extra('before'), ...changes, ...extra('after')])
}

function textOf(engine: EngineName, statements: readonly string[]): string {
  const sql = statements.join(';\n')
  return engine === 'sqlite' ? sql.replaceAll('toolyard.', '') : sql
}

const sinceOf = (part: Column | Index): number | undefined => (typeof part === 'string' ? undefined : part.since)

function typeOf(engine: EngineName, column: Column): string {
  const name = (typeof column === 'string' ? column : column.type).replace('?', '') as Type
  return TYPES[name][engine === 'sqlite' ? 0 : 1]
}

function createTable(engine: EngineName, table: Table): string {
  const { name, columns = {}, key = '', large = false, rowid = large } = table
  const parts = Object.entries(columns)
    .filter(([, column]) => sinceOf(column) === undefined)
    .map(([column, given]) => columnSql(engine, column, given, key))
  if (key.includes(',')) parts.push(`PRIMARY KEY (${key})`)
  const end = engine === 'postgres' ? ')' : rowid ? ') STRICT' : ') STRICT, WITHOUT ROWID'
  return ['CREATE TABLE', `toolyard.${name}`, `(\n  ${parts.join(',\n  ')}\n${end}`].join(' ')
}

const addedColumns = (engine: EngineName, { name, columns = {} }: Table, version: number): string[] =>
  Object.entries(columns)
    .filter(([, column]) => sinceOf(column) === version)
    .map(([column, given]) =>
      ['ALTER TABLE', `toolyard.${name}`, 'ADD COLUMN', columnSql(engine, column, given)].join(' '),
    )

function columnSql(engine: EngineName, name: string, column: Column, key?: string): string {
  const { type, default: value, unique } = typeof column === 'string' ? { type: column } : column
  const parts = [name, typeOf(engine, column)]
  if (type === 'serial' && engine === 'postgres') parts.push('GENERATED ALWAYS AS IDENTITY')
  if (name === key) parts.push('PRIMARY KEY')
  else if (!type.endsWith('?')) parts.push('NOT NULL')
  if (type === 'serial' && engine === 'sqlite') parts.push('AUTOINCREMENT')
  if (value !== undefined)
    parts.push(typeof value === 'string' ? `DEFAULT '${value.replaceAll("'", "''")}'` : `DEFAULT ${value}`)
  if (unique) parts.push('UNIQUE')
  return parts.join(' ')
}

/** The indexes that a version added; `undefined` stands for those that the table began with. */
function indexesOf(engine: EngineName, { name, indexes = {} }: Table, version: number | undefined): string[] {
  return Object.entries(indexes)
    .map(([index, given]) => ({ index, ...(typeof given === 'string' ? { on: given } : given) }))
    .filter(({ since }) => since === version)
    .map(({ index, on, unique, where, include }) => {
      const covered = include === undefined || engine === 'postgres' ? on : `${on}, ${include}`
      const sql = [unique ? 'CREATE UNIQUE INDEX' : 'CREATE INDEX', index, 'ON', `toolyard.${name}`, `(${covered})`]
      if (include !== undefined && engine === 'postgres') sql.push(`INCLUDE (${include})`)
      if (where !== undefined) sql.push('WHERE', where)
      return sql.join(' ')
    })
}
