import type { ChunkWithoutVector, KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { checkCount, checkName, checkVector, checkVectorOf, chunkIdOf, KNOWLEDGE_BOUNDS } from '../knowledge/checks.ts'
import { vectorBytes, vectorCode, vectorOfBytes } from '../knowledge/vector-code.ts'
import type { SqliteCollections } from './sqlite-collections.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

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
    return this.#database.statement('DELETE FROM knowledge_vectors WHERE chunk = ?').run(chunk).changes === 1
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
      this.#collections.grow(collection.id, { documents: 0, chunks: 0, vectors: visible })
    })
  }

  #endWaiting(collection: number, chunk: number): boolean {
    const sql = 'DELETE FROM knowledge_waiting WHERE collection = ? AND chunk = ?'
    return this.#database.statement(sql).run(collection, chunk).changes === 1
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
