import type { KnowledgeStore } from '../../../core/storage/knowledge-store.ts'
import { checkName } from '../../knowledge/check-text.ts'
import { checkVector } from '../../knowledge/check-vector.ts'
import { KNOWLEDGE_BOUNDS as MOST } from '../../knowledge/knowledge-bounds.ts'
import { vectorBytes, vectorOfBytes } from '../../knowledge/vector-bytes.ts'
import type { PostgresDatabase } from '../postgres-database.ts'

const GET = 'SELECT hash, vector FROM toolyard.known_vectors WHERE embedder = $1 AND hash = ANY ($2::text[])'

/** In one order by all, so that nobody waits for somebody who waits for him. */
const KEEP = `
  INSERT INTO toolyard.known_vectors (embedder, hash, vector)
  SELECT $1, kept.hash, kept.vector FROM unnest($2::text[], $3::bytea[]) AS kept (hash, vector)
  ORDER BY kept.hash COLLATE "C"
  ON CONFLICT (embedder, hash) DO UPDATE SET vector = excluded.vector`

/** Numbers are given in order and none twice: so many at most are left. */
const FORGET = `
  DELETE FROM toolyard.known_vectors WHERE id <= (SELECT max(id) FROM toolyard.known_vectors) - $1`

/** Vectors by what they are the vectors of, up to a number; the oldest go. */
export class PostgresKnownVectors {
  readonly #database: PostgresDatabase
  readonly #most: number

  constructor(database: PostgresDatabase, most: number = MOST.knownVectors) {
    this.#database = database
    this.#most = most
  }

  async get(embedder: string, hashes: readonly string[]): Promise<Map<string, Float32Array>> {
    const { rows } = await this.#database.run<{ hash: string; vector: Uint8Array }>(GET, [embedder, hashes])
    return new Map(rows.map(({ hash, vector }) => [hash, vectorOfBytes(vector)]))
  }

  async keep(...[embedder, vectors]: Parameters<KnowledgeStore['keepVectors']>): Promise<void> {
    checkName('The embedder', embedder, MOST.embedder)
    const kept = new Map<string, Buffer>()
    for (const { hash, vector } of vectors) {
      const { buffer, byteOffset, byteLength } = vectorBytes(checkVector(vector))
      kept.set(checkName('The hash of a text', hash, MOST.hash), Buffer.from(buffer, byteOffset, byteLength))
    }
    if (kept.size === 0) return
    await this.#database.run(KEEP, [embedder, [...kept.keys()], [...kept.values()]])
    await this.#database.run(FORGET, [this.#most])
  }
}
