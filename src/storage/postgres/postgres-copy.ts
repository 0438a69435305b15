import { ToolExecutionError } from '../../core/tool-result.ts'
import { searchWords } from '../knowledge/search-words.ts'
import {
  type ColumnRow,
  type CopyChunk,
  type CopyRow,
  type CopySide,
  type CopyTable,
  copyTables,
  replaceRow,
} from '../sql/copy-side.ts'
import { ALIVE_MS } from '../sql/engine.ts'
import { migrations } from './migrations.ts'
import { PostgresCollections } from './postgres-collections.ts'
import { PostgresDatabase, type Statements } from './postgres-database.ts'
import { migrate, PostgresStatements } from './postgres-engine.ts'
import { PostgresChunkVectors } from './postgres-vectors.ts'

const ANSWER_MS = 30_000
/** Writing a page of large rows takes long. */
const WRITE_MS = 120_000

const COLUMNS = `
  SELECT tables.relname AS "table", columns.attname AS name, columns.attidentity <> '' AS identity,
    format_type(columns.atttypid, columns.atttypmod) AS type,
    array_position(keys.indkey::int2[], columns.attnum) AS place
  FROM pg_class AS tables
  JOIN pg_attribute AS columns ON columns.attrelid = tables.oid AND columns.attnum > 0 AND NOT columns.attisdropped
  LEFT JOIN pg_index AS keys ON keys.indrelid = tables.oid AND keys.indisprimary
  WHERE tables.relnamespace = to_regnamespace('toolyard') AND tables.relkind = 'r'`

interface TypedColumn extends ColumnRow {
  readonly type: string
  readonly identity: boolean
}

const STATE = `
  SELECT to_regclass('toolyard.migrations') IS NOT NULL AS there,
    to_regclass('toolyard.knowledge_vectors') IS NOT NULL AS vectors`
const MIGRATED = 'SELECT coalesce(max(version), 0) AS version FROM toolyard.migrations'

/** Opens a database for a copy; `create` also creates the schema and migrates it. */
export async function openPostgresSide(url: string, create: boolean): Promise<CopySide> {
  const database = await PostgresDatabase.open(url, 1, ANSWER_MS)
  try {
    const place = placeOf(url)
    if (create) await migrate(database)
    const vectors = await checkStore(database, place)
    const { rows } = await database.run<TypedColumn>(COLUMNS)
    const vector = '(SELECT vector::real[] FROM toolyard.knowledge_vectors WHERE chunk = t.id)'
    const tables = copyTables(rows, {
      knowledge_parts: { metadata: 't.metadata::text' },
      knowledge_chunks: { vector: vectors ? vector : 'NULL' },
    })
    const statements = new PostgresStatements(database, { instance: '', names: [], aliveMs: ALIVE_MS, beatMs: 0 })
    const chunks = new PostgresCopyChunks(database, vectors)
    return {
      place,
      folder: undefined,
      database: statements,
      vectors,
      tables,
      live: 'true',
      async write(table, page) {
        if (table === 'knowledge_chunks') return chunks.write(page as readonly CopyChunk[])
        const types = Object.fromEntries(
          rows.filter((column) => column.table === table).map(({ name, type }) => [name, type]),
        )
        const insert = insertRows(statements, table, types, tables.get(table) as CopyTable, page)
        await statements.transaction(function* () {
          yield insert
        }, WRITE_MS)
      },
      async finish() {
        for (const { table, name } of rows.filter(({ identity }) => identity)) await continueIds(database, table, name)
      },
      close: () => database.close(),
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** The host and the name of the database. */
function placeOf(url: string): string {
  const { host, pathname, searchParams } = new URL(url)
  return `${searchParams.get('host') ?? host}${pathname}`
}

/** Returns whether the database has vectors. */
async function checkStore(database: PostgresDatabase, place: string): Promise<boolean> {
  const state = (await database.run<{ there: boolean; vectors: boolean }>(STATE)).rows[0]
  if (!state?.there) throw new ToolExecutionError('SERVICE_UNAVAILABLE', `There is no store in the database ${place}`)
  const version = (await database.run<{ version: number }>(MIGRATED)).rows[0]?.version
  if (version === migrations.length) return state.vectors
  throw new ToolExecutionError(
    'SERVICE_UNAVAILABLE',
    `The database ${place} was written by another version of Toolyard (its version is ${version}, this one uses ` +
      `${migrations.length}): start a server of this version on it once`,
  )
}

function insertRows(
  statements: PostgresStatements,
  table: string,
  types: Readonly<Record<string, string>>,
  shape: CopyTable,
  rows: readonly CopyRow[],
) {
  const names = Object.keys(shape.columns)
  const columns = Object.fromEntries(names.map((name) => [name, types[name] as string]))
  const values = rows.map((row) => names.map((name) => row[name]))
  return statements.insert(`toolyard.${table}`, columns, values, replaceRow(shape))
}

/** New rows get ids after the copied ones. */
async function continueIds(database: PostgresDatabase, table: string, column: string): Promise<void> {
  const max = ['SELECT max(', column, ') AS id FROM toolyard.', table].join('')
  const id = (await database.run<{ id: number | null }>(max)).rows[0]?.id ?? null
  if (id !== null)
    await database.run('SELECT setval(pg_get_serial_sequence($1, $2), $3)', [`toolyard.${table}`, column, id])
}

const ADD_CHUNKS = `
  INSERT INTO toolyard.knowledge_chunks (id, collection, part, position, start_at, end_at, heading, text, words)
  OVERRIDING SYSTEM VALUE
  SELECT added.id, added.collection, added.part, added.position, added.start_at, added.end_at, added.heading, added.text,
    setweight(to_tsvector('pg_catalog.english', added.heading_words), 'A')
      || to_tsvector('pg_catalog.english', added.text_words)
  FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::integer[], $5::integer[], $6::integer[], $7::text[],
    $8::text[], $9::text[], $10::text[])
    AS added (id, collection, part, position, start_at, end_at, heading, text, heading_words, text_words)
  ON CONFLICT (id) DO NOTHING RETURNING id`

const CHUNK_COLUMNS = ['id', 'collection', 'part', 'position', 'start_at', 'end_at', 'heading', 'text'] as const

/** Writes chunks with their words and vectors. */
class PostgresCopyChunks {
  readonly #database: PostgresDatabase
  readonly #vectors: PostgresChunkVectors

  constructor(database: PostgresDatabase, hasVectors: boolean) {
    this.#database = database
    this.#vectors = new PostgresChunkVectors(database, new PostgresCollections(database, hasVectors))
  }

  write(chunks: readonly CopyChunk[]): Promise<void> {
    return this.#database.transaction((statements) => this.#write(statements, chunks), WRITE_MS)
  }

  async #write(statements: Statements, chunks: readonly CopyChunk[]): Promise<void> {
    const { rows } = await statements.run<{ id: number }>(ADD_CHUNKS, [
      ...CHUNK_COLUMNS.map((column) => chunks.map((chunk) => chunk[column])),
      chunks.map(({ heading }) => searchWords(heading).join(' ')),
      chunks.map(({ text }) => searchWords(text).join(' ')),
    ])
    const added = new Set(rows.map(({ id }) => id))
    const byCollection = Map.groupBy(
      chunks.filter(({ id }) => added.has(id)),
      ({ collection }) => collection,
    )
    for (const [collection, own] of byCollection) {
      await this.#vectors.add(
        statements,
        collection,
        own.map(({ id, vector }) => ({ chunk: id, vector })),
      )
    }
  }
}
