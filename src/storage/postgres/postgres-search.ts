import type { KnowledgeHit, KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { checkQuery, checkVectorOf } from '../knowledge/checks.ts'
import { queryWords } from '../knowledge/search-words.ts'
import { candidatesOf } from '../knowledge/vector-code.ts'
import type { PostgresCollections } from './postgres-collections.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import { codeValue, vectorValue } from './postgres-vectors.ts'

const SEARCH_MS = 30_000

/**
 * A word in a heading counts twice, and long chunks count a little less. `ts_rank_cd` considers the distance of words,
 * and takes minutes for a question of some hundred words.
 */
const BY_TEXT = `
  SELECT chunks.id::text AS chunk_id, versions.document AS document_id, parts.source, chunks.position,
    chunks.start_at AS "start", chunks.end_at AS "end", chunks.heading, chunks.text, parts.metadata,
    ts_rank('{0.5, 0.5, 0.5, 1}', chunks.words, asked.words, 1)::double precision AS score
  FROM to_tsquery('pg_catalog.english', $2) AS asked (words)
  JOIN toolyard.knowledge_chunks AS chunks ON chunks.collection = $1 AND chunks.words @@ asked.words
  JOIN toolyard.knowledge_parts AS parts ON parts.id = chunks.part
  JOIN toolyard.knowledge_versions AS versions ON versions.id = parts.version
  WHERE versions.visible AND ($3::jsonb IS NULL OR parts.metadata @> $3::jsonb)
  ORDER BY score DESC, chunks.id LIMIT $4`

/** Indexed chunks of incomplete versions must not be found. */
const HIDDEN = `
  SELECT coalesce(sum(vectors), 0)::bigint AS vectors FROM toolyard.knowledge_versions
  WHERE collection = $1 AND NOT visible`

/** With a filter, or if all vectors are compared, only visible chunks are read. */
const BY_VECTOR = `
  WITH near AS MATERIALIZED (
    SELECT codes.chunk FROM toolyard.knowledge_codes AS codes
    JOIN toolyard.knowledge_chunks AS chunks ON chunks.id = codes.chunk
    JOIN toolyard.knowledge_parts AS parts ON parts.id = chunks.part
    JOIN toolyard.knowledge_versions AS versions ON versions.id = parts.version
    WHERE codes.collection = $1 AND versions.visible AND ($3::jsonb IS NULL OR parts.metadata @> $3::jsonb)
    ORDER BY CASE WHEN $6::bigint IS NULL THEN 0 ELSE bit_count(codes.code # $5::bit varying) END LIMIT $6::bigint
  )`

/** Otherwise the limit is raised by the number of hidden vectors. */
const BY_CODE = `
  WITH near AS MATERIALIZED (
    SELECT chunk FROM toolyard.knowledge_codes WHERE collection = $1 AND $3::jsonb IS NULL
    ORDER BY bit_count(code # $5::bit varying) LIMIT $6::bigint
  )`

const NEAREST = `
  SELECT chunks.id::text AS chunk_id, versions.document AS document_id, parts.source, chunks.position,
    chunks.start_at AS "start", chunks.end_at AS "end", chunks.heading, chunks.text, parts.metadata, best.score
  FROM (
    SELECT vectors.chunk, 1 - (vectors.vector <=> $2::vector) AS score
    FROM near JOIN toolyard.knowledge_vectors AS vectors ON vectors.chunk = near.chunk
    ORDER BY vectors.vector <=> $2::vector, vectors.chunk LIMIT $4::bigint + $7::bigint
  ) AS best
  JOIN toolyard.knowledge_chunks AS chunks ON chunks.id = best.chunk
  JOIN toolyard.knowledge_parts AS parts ON parts.id = chunks.part
  JOIN toolyard.knowledge_versions AS versions ON versions.id = parts.version
  WHERE versions.visible ORDER BY best.score DESC, chunks.id LIMIT $4::bigint`

/** Finds chunks in one collection. */
export class PostgresSearch {
  readonly #database: PostgresDatabase
  readonly #collections: PostgresCollections

  constructor(database: PostgresDatabase, collections: PostgresCollections) {
    this.#database = database
    this.#collections = collections
  }

  async byText(query: Parameters<KnowledgeStore['byText']>[0]): Promise<KnowledgeHit[]> {
    const { most, filter } = checkQuery(query)
    const words = queryWords(query.text)
    const collection = await this.#collections.find(query.tenant, query.collection)
    if (collection === undefined || words.length === 0) return []
    return this.#ask(BY_TEXT, [collection.id, words.join(' | '), filter && JSON.stringify(filter), most])
  }

  async byVector(query: Parameters<KnowledgeStore['byVector']>[0]): Promise<KnowledgeHit[]> {
    const { most, filter } = checkQuery(query)
    const collection = await this.#collections.find(query.tenant, query.collection)
    if (collection === undefined || collection.embedder === null) return []
    const vector = checkVectorOf(collection, query.vector)
    const candidates = candidatesOf(collection, most)
    const byCode = candidates !== undefined && filter === undefined
    const hidden = byCode ? await this.#hidden(collection.id) : 0
    const among = byCode ? BY_CODE : BY_VECTOR
    return this.#ask([among, NEAREST].join(''), [
      collection.id,
      vectorValue(vector),
      filter && JSON.stringify(filter),
      most,
      codeValue(vector),
      candidates && candidates + hidden,
      hidden,
    ])
  }

  async #hidden(collection: number): Promise<number> {
    const { rows } = await this.#database.run<{ vectors: number }>(HIDDEN, [collection])
    return rows[0]?.vectors ?? 0
  }

  async #ask(text: string, values: readonly unknown[]): Promise<KnowledgeHit[]> {
    const { rows } = await this.#database.transaction(
      (statements) => statements.run<KnowledgeHit>(text, values),
      SEARCH_MS,
    )
    return [...rows]
  }
}
