import type { Clock } from '../../../core/clock.ts'
import { type Log, writeLog } from '../../../core/log.ts'
import type {
  ChunkWithoutVector,
  Collection,
  DocumentPart,
  KnowledgeHit,
  KnowledgeStore,
} from '../../../core/storage/knowledge-store.ts'
import { checkQuery, checkVectorOf } from '../../knowledge/checks.ts'
import { toCollection } from '../../knowledge/collection-row.ts'
import { queryWords } from '../../knowledge/search-words.ts'
import { candidatesOf } from '../../knowledge/vector-code.ts'
import type { PostgresDatabase } from '../postgres-database.ts'
import { PostgresCollections } from './postgres-collections.ts'
import { PostgresDocuments } from './postgres-documents.ts'
import { codeValue, PostgresChunkVectors, PostgresKnownVectors, vectorValue } from './postgres-vectors.ts'

interface Around {
  /** Whether pgvector is there. */
  readonly vectors: boolean
  readonly clock: Clock
  readonly log: Log
}

export class PostgresKnowledge implements KnowledgeStore {
  readonly #collections: PostgresCollections
  readonly #documents: PostgresDocuments
  readonly #vectors: PostgresChunkVectors
  readonly #known: PostgresKnownVectors
  readonly #search: PostgresSearch
  readonly #log: Log
  #cleaning: Promise<void> | undefined
  #closed = false

  constructor(database: PostgresDatabase, { vectors, clock, log }: Around) {
    this.#collections = new PostgresCollections(database, vectors)
    this.#vectors = new PostgresChunkVectors(database, this.#collections)
    this.#documents = new PostgresDocuments(database, {
      collections: this.#collections,
      vectors: this.#vectors,
      clock,
    })
    this.#known = new PostgresKnownVectors(database)
    this.#search = new PostgresSearch(database, this.#collections)
    this.#log = log
  }

  /** Removes what collections that are gone have left, whoever dropped them. */
  clean(): void {
    this.#cleaning ??= this.#clean()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#cleaning
  }

  async collections(tenant: string): Promise<Collection[]> {
    return (await this.#collections.list(tenant)).map(toCollection)
  }

  async collection(tenant: string, name: string): Promise<Collection | undefined> {
    const row = await this.#collections.find(tenant, name)
    return row && toCollection(row)
  }

  async open(...asked: Parameters<KnowledgeStore['open']>): Promise<Collection> {
    return toCollection(await this.#collections.open(...asked))
  }

  async put(part: DocumentPart): Promise<{ readonly complete: boolean; readonly chunks: number }> {
    return this.#documents.put(part)
  }

  document(...asked: Parameters<KnowledgeStore['document']>): ReturnType<KnowledgeStore['document']> {
    return this.#documents.find(...asked)
  }

  remove(...asked: Parameters<KnowledgeStore['remove']>): Promise<boolean> {
    return this.#documents.remove(...asked)
  }

  async drop(tenant: string, collection: string): Promise<boolean> {
    const dropped = await this.#collections.drop(tenant, collection)
    if (dropped) this.clean()
    return dropped
  }

  byText(query: Parameters<KnowledgeStore['byText']>[0]): Promise<KnowledgeHit[]> {
    return this.#search.byText(query)
  }

  byVector(query: Parameters<KnowledgeStore['byVector']>[0]): Promise<KnowledgeHit[]> {
    return this.#search.byVector(query)
  }

  withoutVector(tenant: string, collection: string, most: number): Promise<ChunkWithoutVector[]> {
    return this.#vectors.waiting(tenant, collection, most)
  }

  setVectors(...asked: Parameters<KnowledgeStore['setVectors']>): Promise<void> {
    return this.#vectors.set(...asked)
  }

  knownVectors(embedder: string, hashes: readonly string[]): Promise<ReadonlyMap<string, Float32Array>> {
    return this.#known.get(embedder, hashes)
  }

  keepVectors(...asked: Parameters<KnowledgeStore['keepVectors']>): Promise<void> {
    return this.#known.keep(...asked)
  }

  sweep(beforeMs: number): Promise<number> {
    return this.#documents.sweep(beforeMs)
  }

  async #clean(): Promise<void> {
    try {
      while (!this.#closed && (await this.#documents.clean()));
    } catch (err) {
      writeLog(this.#log, 'warn', { err }, 'What is gone from the collections could not be removed yet')
    }
    this.#cleaning = undefined
  }
}

const SEARCH_MS = 30_000

/**
 * A word in a heading counts twice as much, and long chunks a little less. `ts_rank_cd` would look at how near words are to
 * each other, and takes minutes for a question of some hundred words.
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

/** What is indexed and must not be found: parts of versions that are not whole yet. */
const HIDDEN = `
  SELECT coalesce(sum(vectors), 0)::bigint AS vectors FROM toolyard.knowledge_versions
  WHERE collection = $1 AND NOT visible`

/** Where a filter is given, or all vectors are compared anyway, what is visible is known first. */
const BY_VECTOR = `
  WITH near AS MATERIALIZED (
    SELECT codes.chunk FROM toolyard.knowledge_codes AS codes
    JOIN toolyard.knowledge_chunks AS chunks ON chunks.id = codes.chunk
    JOIN toolyard.knowledge_parts AS parts ON parts.id = chunks.part
    JOIN toolyard.knowledge_versions AS versions ON versions.id = parts.version
    WHERE codes.collection = $1 AND versions.visible AND ($3::jsonb IS NULL OR parts.metadata @> $3::jsonb)
    ORDER BY CASE WHEN $6::bigint IS NULL THEN 0 ELSE bit_count(codes.code # $5::bit varying) END LIMIT $6::bigint
  )`

/** Else as many more codes are looked at as are not visible. */
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
class PostgresSearch {
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
