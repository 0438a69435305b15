import type { ChunkWithoutVector, KnowledgeStore } from '../../../core/storage/knowledge-store.ts'
import { checkCount } from '../../knowledge/check-text.ts'
import { checkVectorOf } from '../../knowledge/check-vector.ts'
import { chunkIdOf } from '../../knowledge/chunk-id.ts'
import { KNOWLEDGE_BOUNDS } from '../../knowledge/knowledge-bounds.ts'
import { vectorBytes } from '../../knowledge/vector-bytes.ts'
import { vectorCode } from '../../knowledge/vector-code.ts'
import type { SqliteDatabase } from '../sqlite-database.ts'
import type { SqliteCollections } from './sqlite-collections.ts'

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

  /** Inside a transaction. Whether it had a vector. */
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

  /** Chunks that are gone, that have theirs, or that are another's are left as they are. */
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
