import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
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
import { placeholders } from '../sql/database.ts'
import { ALIVE_MS } from '../sql/engine.ts'
import { migrate, VERSION } from './migrations.ts'
import { SqliteCollections } from './sqlite-collections.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { SqliteStatements } from './sqlite-engine.ts'
import { SqliteChunkVectors } from './sqlite-vectors.ts'
import { createWords, insertWords } from './words-table.ts'

const COLUMNS = `
  SELECT tables.name AS "table", columns.name, nullif(columns.pk, 0) AS place
  FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns
  WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite~_%' ESCAPE '~'
    AND tables.name NOT LIKE 'knowledge~_words~_%' ESCAPE '~' AND (tables.name, columns.name) <> ('knowledge_versions', 'state')`

const READ = {
  // Rows of the first edition have none.
  once: { claim: "coalesce(t.claim, '')" },
  knowledge_versions: { visible: "t.state = 'visible'" },
  knowledge_chunks: {
    collection: `(SELECT v.collection FROM toolyard.knowledge_parts AS p
      JOIN toolyard.knowledge_versions AS v ON v.id = p.version WHERE p.id = t.part)`,
    vector: '(SELECT vector FROM toolyard.knowledge_vectors WHERE chunk = t.id)',
  },
}

/** Opens the store in a data folder for a copy; `create` also creates and migrates it. */
export async function openSqliteSide(folder: string, create: boolean): Promise<CopySide> {
  if (!create && !existsSync(join(folder, 'toolyard.db'))) {
    throw new ToolExecutionError('SERVICE_UNAVAILABLE', `There is no store in the folder ${folder}`)
  }
  const database = new SqliteDatabase(folder)
  try {
    if (create) migrate(database)
    const version = database.get<{ user_version: number }>('PRAGMA user_version')?.user_version
    if (version !== VERSION) {
      throw new ToolExecutionError(
        'SERVICE_UNAVAILABLE',
        `${database.name} in ${folder} was written by another version of Toolyard (its version is ${version}, this one ` +
          `uses ${VERSION}): start a server of this version on it once`,
      )
    }
    const statements = new SqliteStatements(
      database,
      { names: [], deadBefore: () => Date.now() - ALIVE_MS },
      { write: (_, work) => database.write(work) },
    )
    const { rows } = await statements.run<ColumnRow>(COLUMNS)
    const tables = copyTables(rows, READ)
    const writer = new SqliteCopyWriter(database, tables)
    return {
      place: folder,
      folder,
      database: statements,
      vectors: true,
      tables,
      live: "v.state <> 'gone'",
      write: async (table, page) => database.write(() => writer.write(table, page)),
      finish: async () => {},
      close: async () => database.close(),
    }
  } catch (error) {
    database.close()
    throw error
  }
}

const ADD_CHUNK = `
  INSERT INTO knowledge_chunks (id, part, position, start_at, end_at, heading, text) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO NOTHING`

const ADD_LABELS = `
  INSERT INTO knowledge_labels (collection, key, value, part)
  SELECT v.collection, label.key, label.value, p.id FROM knowledge_parts AS p
  JOIN knowledge_versions AS v ON v.id = p.version JOIN json_each(p.metadata) AS label WHERE p.id = ?
  ON CONFLICT DO NOTHING`

/** Writes rows inside a transaction. */
class SqliteCopyWriter {
  readonly #database: SqliteDatabase
  readonly #tables: ReadonlyMap<string, CopyTable>
  readonly #vectors: SqliteChunkVectors

  constructor(database: SqliteDatabase, tables: ReadonlyMap<string, CopyTable>) {
    this.#database = database
    this.#tables = tables
    this.#vectors = new SqliteChunkVectors(database, new SqliteCollections(database))
  }

  write(table: string, rows: readonly CopyRow[]): void {
    for (const row of rows) {
      if (table === 'knowledge_chunks') this.#addChunk(row as CopyChunk)
      else if (table === 'knowledge_versions') this.#insert(table, withState(row))
      else this.#insert(table, row)
      if (table === 'knowledge_collections') createWords(this.#database, row.id as number)
      if (table === 'knowledge_parts') this.#database.run(ADD_LABELS, row.id as number)
    }
  }

  #insert(table: string, row: CopyRow): void {
    const columns = Object.keys(row)
    const { key } = this.#tables.get(table) as CopyTable
    const sql = ['INSERT INTO', table, '(', columns.join(', '), ') VALUES', placeholders(columns)]
    const replace = replaceRow({ columns: row as Record<string, string>, key })
    this.#database.run([...sql, replace].join(' '), ...(Object.values(row) as SQLInputValue[]))
  }

  #addChunk({ id, collection, part, position, start_at, end_at, heading, text, vector }: CopyChunk): void {
    const added = this.#database.run(ADD_CHUNK, id, part, position, start_at, end_at, heading, text)
    if (added === 0) return
    const words = [heading, text].map((value) => searchWords(value).join(' ')) as [string, string]
    this.#database.run(insertWords(collection), id, ...words)
    this.#vectors.add(collection, id, vector)
  }
}

const withState = ({ visible, ...row }: CopyRow): CopyRow => ({ ...row, state: visible ? 'visible' : 'staged' })
