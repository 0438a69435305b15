import { type Log, writeLog } from '../../core/log.ts'
import type { ChunkWithoutVector, KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { checkCount, checkName, checkVector, checkVectorOf, chunkIdOf, KNOWLEDGE_BOUNDS } from '../knowledge/checks.ts'
import { vectorBytes, vectorCode, vectorOfBytes } from '../knowledge/vector-code.ts'
import type { SqliteCollections } from './sqlite-collections.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { deleteWords } from './words-table.ts'

/** The vectors of chunks, and which chunks wait for theirs. */
export class SqliteChunkVectors {
  readonly #database: SqliteDatabase
  readonly #collections: SqliteCollections

  constructor(database: SqliteDatabase, collections: SqliteCollections) {
    this.#database = database
    this.#collections = collections
  }

  /** Inside a transaction. */
  add(collection: number, chunk: number, vector: Float32Array | undefined): void {
    if (vector === undefined) {
      this.#database.statement('INSERT INTO knowledge_waiting (collection, chunk) VALUES (?, ?)').run(collection, chunk)
      return
    }
    const bytes = vectorBytes(vector)
    this.#database.statement('INSERT INTO knowledge_vectors (chunk, vector) VALUES (?, ?)').run(chunk, bytes)
    this.#database
      .statement('INSERT INTO knowledge_codes (collection, chunk, code) VALUES (?, ?, ?)')
      .run(collection, chunk, vectorCode(vector))
  }

  /** Inside a transaction. Returns whether it had a vector. */
  remove(collection: number, chunk: number): boolean {
    const waited = this.#endWaiting(collection, chunk)
    if (waited) return false
    this.#database.statement('DELETE FROM knowledge_codes WHERE collection = ? AND chunk = ?').run(collection, chunk)
    return this.#database.run('DELETE FROM knowledge_vectors WHERE chunk = ?', chunk) === 1
  }

  waiting(tenant: string, name: string, most: number): ChunkWithoutVector[] {
    const collection = this.#collections.find(tenant, name)
    if (collection === undefined || collection.embedder === null) return []
    const rows = this.#database.all<ChunkWithoutVector>(
      `SELECT CAST(chunks.id AS TEXT) AS chunk_id, chunks.text, chunks.heading
       FROM knowledge_waiting AS waiting
       JOIN knowledge_chunks AS chunks ON chunks.id = waiting.chunk
       JOIN knowledge_parts AS parts ON parts.id = chunks.part
       JOIN knowledge_versions AS versions ON versions.id = parts.version
       WHERE waiting.collection = ? AND versions.state = 'visible' ORDER BY waiting.chunk LIMIT ?`,
      collection.id,
      checkCount('`most`', most, 1, KNOWLEDGE_BOUNDS.chunksOfPart),
    )
    return rows.map((row) => ({ ...row }))
  }

  /** Ignores chunks that are removed, have a vector, or belong to another tenant. */
  set(...[tenant, name, vectors]: Parameters<KnowledgeStore['setVectors']>): void {
    this.#database.write(() => {
      const collection = this.#collections.get(tenant, name)
      const checked = vectors.map(({ chunk_id, vector }) => ({
        chunk: chunkIdOf(chunk_id),
        vector: checkVectorOf(collection, vector),
      }))
      let visible = 0
      for (const { chunk, vector } of checked) {
        if (chunk === undefined || !this.#endWaiting(collection.id, chunk)) continue
        this.add(collection.id, chunk, vector)
        const version = this.#database.get<{ state: string }>(
          `UPDATE knowledge_versions SET vectors = vectors + 1
           WHERE id = (SELECT version FROM knowledge_parts
             WHERE id = (SELECT part FROM knowledge_chunks WHERE id = ?)) RETURNING state`,
          chunk,
        )
        if (version?.state === 'visible') visible++
      }
      this.#collections.grow(collection.id, { documents: 0, chunks: 0, vectors: visible, bytes: 0 })
    })
  }

  #endWaiting(collection: number, chunk: number): boolean {
    const sql = 'DELETE FROM knowledge_waiting WHERE collection = ? AND chunk = ?'
    return this.#database.run(sql, collection, chunk) === 1
  }
}

/** A join would read all vectors of the embedder. */
export const ASKED =
  'SELECT hash, vector FROM known_vectors WHERE embedder = ? AND hash IN (SELECT value FROM json_each(?))'

/** Vectors by the hash of their text; the oldest are removed. */
export class SqliteKnownVectors {
  readonly #database: SqliteDatabase
  readonly #most: number

  constructor(database: SqliteDatabase, most: number = KNOWLEDGE_BOUNDS.knownVectors) {
    this.#database = database
    this.#most = most
  }

  get(embedder: string, hashes: readonly string[]): Map<string, Float32Array> {
    const rows = this.#database.all<{ hash: string; vector: Uint8Array }>(ASKED, embedder, JSON.stringify(hashes))
    return new Map(rows.map(({ hash, vector }) => [hash, vectorOfBytes(vector)]))
  }

  keep(...[embedder, vectors]: Parameters<KnowledgeStore['keepVectors']>): void {
    checkName('The embedder', embedder, KNOWLEDGE_BOUNDS.embedder)
    const checked = vectors.map(({ hash, vector }) => ({
      hash: checkName('The hash of a text', hash, KNOWLEDGE_BOUNDS.hash),
      vector: checkVector(vector),
    }))
    this.#database.write(() => {
      for (const { hash, vector } of checked) {
        this.#database
          .statement(
            `INSERT INTO known_vectors (embedder, hash, vector) VALUES (?, ?, ?)
             ON CONFLICT (embedder, hash) DO UPDATE SET vector = excluded.vector`,
          )
          .run(embedder, hash, vectorBytes(vector))
      }
      // Ids are unique and increasing, so at most this many rows are left.
      this.#database.run('DELETE FROM known_vectors WHERE id <= (SELECT max(id) FROM known_vectors) - ?', this.#most)
    })
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
