import type { KnowledgeStore } from '../../../core/storage/knowledge-store.ts'
import { checkName } from '../../knowledge/check-text.ts'
import { checkVector } from '../../knowledge/check-vector.ts'
import { KNOWLEDGE_BOUNDS as MOST } from '../../knowledge/knowledge-bounds.ts'
import { vectorBytes, vectorOfBytes } from '../../knowledge/vector-bytes.ts'
import type { SqliteDatabase } from '../sqlite-database.ts'

/** Not a join: that would go through all vectors of the embedder. */
export const ASKED =
  'SELECT hash, vector FROM known_vectors WHERE embedder = ? AND hash IN (SELECT value FROM json_each(?))'

/** Vectors by what they are the vectors of, up to a number; the oldest go. */
export class SqliteKnownVectors {
  readonly #database: SqliteDatabase
  readonly #most: number

  constructor(database: SqliteDatabase, most: number = MOST.knownVectors) {
    this.#database = database
    this.#most = most
  }

  get(embedder: string, hashes: readonly string[]): Map<string, Float32Array> {
    const rows = this.#database.all<{ hash: string; vector: Uint8Array }>(ASKED, embedder, JSON.stringify(hashes))
    return new Map(rows.map(({ hash, vector }) => [hash, vectorOfBytes(vector)]))
  }

  keep(...[embedder, vectors]: Parameters<KnowledgeStore['keepVectors']>): void {
    checkName('The embedder', embedder, MOST.embedder)
    const checked = vectors.map(({ hash, vector }) => ({
      hash: checkName('The hash of a text', hash, MOST.hash),
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
      // Numbers are given in order and none twice: so many at most are left.
      this.#database.run('DELETE FROM known_vectors WHERE id <= (SELECT max(id) FROM known_vectors) - ?', this.#most)
    })
  }
}
