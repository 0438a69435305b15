import { type Log, writeLog } from '../../core/log.ts'
import { quoted } from '../../core/schema/problem-words.ts'
import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import {
  type CollectionRow,
  checkCollection,
  type Growth,
  KNOWLEDGE_BOUNDS,
  refused,
  usableRow,
} from '../knowledge/checks.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import type { SqliteChunkVectors } from './sqlite-vectors.ts'
import { createWords, deleteWords, dropWords } from './words-table.ts'

const SELECT =
  'SELECT id, tenant, name, embedder, dimensions, documents, chunks, vectors FROM knowledge_collections WHERE gone = 0'

export class SqliteCollections {
  readonly #database: SqliteDatabase

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  list(tenant: string): CollectionRow[] {
    const rows = this.#database.all<CollectionRow>([SELECT, 'AND tenant = ? ORDER BY name'].join(' '), tenant)
    return rows.map((row) => usableRow(row, this.#database.vectors))
  }

  find(tenant: string, name: string): CollectionRow | undefined {
    const row = this.#database.get<CollectionRow>([SELECT, 'AND tenant = ? AND name = ?'].join(' '), tenant, name)
    return row && usableRow(row, this.#database.vectors)
  }

  get(tenant: string, name: string): CollectionRow {
    const row = this.find(tenant, name)
    if (row === undefined) throw refused(`There is no collection ${quoted(name)}: open it first`)
    return row
  }

  open(...asked: Parameters<KnowledgeStore['open']>): CollectionRow {
    const { tenant, name, embedder, dimensions } = checkCollection(...asked)
    const takesOn = embedder !== null && this.#database.vectors
    const there = this.find(tenant, name)
    if (there !== undefined && (there.embedder !== null || !takesOn)) return there
    this.#database.write(() => {
      if (this.find(tenant, name) === undefined) this.#create(tenant, name)
      if (!takesOn) return
      this.#database.run(
        `UPDATE knowledge_collections SET embedder = ?, dimensions = ?
         WHERE tenant = ? AND name = ? AND gone = 0 AND embedder IS NULL`,
        embedder,
        dimensions,
        tenant,
        name,
      )
    })
    return this.get(tenant, name)
  }

  /** Inside a transaction. Hides the collection; its rows are removed later. */
  drop(tenant: string, name: string): boolean {
    const row = this.find(tenant, name)
    if (row === undefined) return false
    dropWords(this.#database, row.id)
    this.#database.run('UPDATE knowledge_collections SET gone = 1 WHERE id = ?', row.id)
    return true
  }

  grow(id: number, { documents, chunks, vectors }: Growth): void {
    this.#database.run(
      `UPDATE knowledge_collections SET documents = documents + ?, chunks = chunks + ?, vectors = vectors + ?
       WHERE id = ?`,
      documents,
      chunks,
      vectors,
      id,
    )
  }

  #create(tenant: string, name: string): void {
    const sql = 'SELECT count(*) AS count FROM knowledge_collections WHERE gone = 0 AND tenant = ?'
    const count = this.#database.get<{ count: number }>(sql, tenant)?.count ?? 0
    if (count >= KNOWLEDGE_BOUNDS.collectionsOfTenant) {
      throw refused(`The tenant has ${count} collections, as many as it may: drop one before ${quoted(name)} is made`)
    }
    const row = this.#database.get<{ id: number }>(
      'INSERT INTO knowledge_collections (tenant, name) VALUES (?, ?) RETURNING id',
      tenant,
      name,
    )
    createWords(this.#database, (row as { id: number }).id)
  }
}

/** Removing this many chunks takes about 30 ms, so that others do not wait long. */
const AT_ONCE = 200

interface GoneVersion {
  readonly id: number
  readonly collection: number
  /** Whether the whole collection was dropped, and its words with it. */
  readonly whole: number
}

/** Removes rows that are marked as gone in small steps. */
export class SqliteCleaner {
  readonly #database: SqliteDatabase
  readonly #vectors: SqliteChunkVectors
  readonly #log: Log
  #next: NodeJS.Immediate | undefined
  #closed = false

  constructor(database: SqliteDatabase, vectors: SqliteChunkVectors, log: Log) {
    this.#database = database
    this.#vectors = vectors
    this.#log = log
  }

  /** Inside a transaction: removes the first rows at once and the rest soon after. */
  begin(): void {
    if (this.#removeSome()) this.resume()
  }

  /** Continues the removal that this process or another one began. */
  resume(): void {
    if (this.#closed) return
    this.#next ??= setImmediate(() => {
      this.#next = undefined
      try {
        if (this.#gone() === undefined) return
        if (this.#database.write(() => this.#removeSome())) this.resume()
      } catch (err) {
        writeLog(this.#log, 'warn', { err }, 'Removed documents could not be deleted yet')
      }
    })
  }

  close(): void {
    this.#closed = true
    clearImmediate(this.#next)
  }

  /** Returns whether something is left. */
  #removeSome(): boolean {
    let removed = 0
    for (let version = this.#gone(); version !== undefined; version = this.#gone()) {
      if (removed >= AT_ONCE) return true
      removed += Math.max(1, this.#removePart(version))
    }
    this.#database.run(
      `DELETE FROM knowledge_collections WHERE gone = 1
         AND NOT EXISTS (SELECT 1 FROM knowledge_versions WHERE collection = knowledge_collections.id)`,
    )
    return false
  }

  #gone(): GoneVersion | undefined {
    return this.#database.get<GoneVersion>(
      `SELECT versions.id, versions.collection, collections.gone AS whole
       FROM knowledge_collections AS collections
       JOIN knowledge_versions AS versions ON versions.collection = collections.id
       WHERE collections.gone = 1
       UNION ALL
       SELECT versions.id, versions.collection, 0 FROM knowledge_versions AS versions
       WHERE versions.state <> 'visible' AND versions.state = 'gone' LIMIT 1`,
    )
  }

  /** Removes the chunks of one part, or the version if it has no parts left. */
  #removePart({ id, collection, whole }: GoneVersion): number {
    const part = this.#database.get<{ id: number; metadata: string }>(
      'SELECT id, metadata FROM knowledge_parts WHERE version = ? LIMIT 1',
      id,
    )
    if (part === undefined) {
      this.#database.run('DELETE FROM knowledge_versions WHERE id = ?', id)
      return 0
    }
    const chunks = this.#database.all<{ id: number }>('SELECT id FROM knowledge_chunks WHERE part = ?', part.id)
    let vectors = 0
    for (const chunk of chunks) {
      if (this.#vectors.remove(collection, chunk.id)) vectors++
      if (!whole) this.#database.statement(deleteWords(collection)).run(chunk.id)
    }
    this.#database.run('DELETE FROM knowledge_chunks WHERE part = ?', part.id)
    this.#database.run(
      `DELETE FROM knowledge_labels WHERE (collection, key, value, part) IN
         (SELECT ?, key, value, ? FROM json_each(?))`,
      collection,
      part.id,
      part.metadata,
    )
    this.#database.run('DELETE FROM knowledge_parts WHERE id = ?', part.id)
    this.#database.run(
      'UPDATE knowledge_versions SET chunks = chunks - ?, vectors = vectors - ? WHERE id = ?',
      chunks.length,
      vectors,
      id,
    )
    return chunks.length
  }
}
