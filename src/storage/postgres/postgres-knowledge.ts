import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { DocumentPart, KnowledgeHit, KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import type { Quota, Usage } from '../../core/storage/quota.ts'
import {
  bytesOf,
  checkPart,
  checkPartQuota,
  checkQuery,
  checkVectorOf,
  toCollection,
  type VersionRow,
} from '../knowledge/checks.ts'
import { queryWords, searchWords } from '../knowledge/search-words.ts'
import { candidatesOf } from '../knowledge/vector-code.ts'
import { USAGE } from '../sql/database.ts'
import { PostgresCollections } from './postgres-collections.ts'
import type { PostgresDatabase, Statements } from './postgres-database.ts'
import { codeValue, PostgresChunkVectors, PostgresKnownVectors, vectorValue } from './postgres-vectors.ts'

export interface PostgresKnowledge extends KnowledgeStore {
  /** Removes the rows of dropped collections. */
  clean(): void
  close(): Promise<void>
}

/** `vectors` tells whether pgvector is installed. */
export function postgresKnowledge(
  database: PostgresDatabase,
  { vectors: hasVectors, clock, log }: { readonly vectors: boolean; readonly clock: Clock; readonly log: Log },
): PostgresKnowledge {
  const collections = new PostgresCollections(database, hasVectors)
  const vectors = new PostgresChunkVectors(database, collections)
  const documents = new PostgresDocuments(database, { collections, vectors, clock })
  const known = new PostgresKnownVectors(database)
  const search = new PostgresSearch(database, collections)
  let closed = false
  let cleaning: Promise<void> | undefined
  const cleanAll = async (): Promise<void> => {
    try {
      while (!closed && (await documents.clean()));
    } catch (err) {
      writeLog(log, 'warn', { err }, 'Removed documents could not be deleted yet')
    }
    cleaning = undefined
  }
  const clean = (): void => {
    cleaning ??= cleanAll()
  }
  return {
    clean,
    async close() {
      closed = true
      await cleaning
    },
    collections: async (tenant) => (await collections.list(tenant)).map(toCollection),
    async collection(tenant, name) {
      const row = await collections.find(tenant, name)
      return row && toCollection(row)
    },
    open: async (...asked) => toCollection(await collections.open(...asked)),
    put: async (part, quota) => documents.put(part, quota),
    document: (...asked) => documents.find(...asked),
    staged: (...asked) => documents.staged(...asked),
    remove: (...asked) => documents.remove(...asked),
    async drop(tenant, collection) {
      const dropped = await collections.drop(tenant, collection)
      if (dropped) clean()
      return dropped
    },
    byText: (query) => search.byText(query),
    byVector: (query) => search.byVector(query),
    withoutVector: (...asked) => vectors.waiting(...asked),
    setVectors: (...asked) => vectors.set(...asked),
    knownVectors: (...asked) => known.get(...asked),
    keepVectors: (...asked) => known.keep(...asked),
    sweep: (beforeMs) => documents.sweep(beforeMs),
  }
}

/** Removing a large version takes long. */
const WRITE_MS = 60_000
/** Keeps the locks of removals short. */
const VERSIONS_AT_ONCE = 100

/** Every value is the tenant. */
const USAGE_SQL = USAGE.replaceAll('?', '$1')

/** Serializes writes of the same document. */
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1::text || ' ' || $2::text, 7203))"

const VISIBLE = `
  SELECT id, version, parts, parts_in, chunks, vectors, bytes FROM toolyard.knowledge_versions
  WHERE collection = $1 AND document = $2 AND visible`

const STAGED = `
  SELECT id, version, parts, parts_in, chunks, vectors, bytes FROM toolyard.knowledge_versions
  WHERE collection = $1 AND document = $2 AND version = $3 AND NOT visible FOR UPDATE`

const NEWEST_STAGED = `
  SELECT version, parts FROM toolyard.knowledge_versions
  WHERE collection = $1 AND document = $2 AND NOT visible AND starts_with(version, $3) AND id > coalesce((
    SELECT id FROM toolyard.knowledge_versions WHERE collection = $1 AND document = $2 AND visible), 0)
  ORDER BY id DESC LIMIT 1`

const STAGE = `
  INSERT INTO toolyard.knowledge_versions (collection, document, version, parts, put_at) VALUES ($1, $2, $3, $4, $5)
  RETURNING id, version, parts, parts_in, chunks, vectors, bytes`

const ADD_PART = `
  INSERT INTO toolyard.knowledge_parts (version, part, source, metadata) VALUES ($1, $2, $3, $4::jsonb)
  ON CONFLICT (version, part) DO NOTHING RETURNING id`

const ADD_CHUNKS = `
  INSERT INTO toolyard.knowledge_chunks (collection, part, position, start_at, end_at, heading, text, words)
  SELECT $1, $2, added.position, added.start_at, added.end_at, added.heading, added.text,
    setweight(to_tsvector('pg_catalog.english', added.heading_words), 'A')
      || to_tsvector('pg_catalog.english', added.text_words)
  FROM unnest($3::integer[], $4::integer[], $5::integer[], $6::text[], $7::text[], $8::text[], $9::text[])
    AS added (position, start_at, end_at, heading, text, heading_words, text_words)
  RETURNING id, position`

const GROW = `
  UPDATE toolyard.knowledge_versions
  SET parts_in = parts_in + 1, chunks = chunks + $2, vectors = vectors + $3, put_at = $4, bytes = bytes + $5
  WHERE id = $1 RETURNING id, version, parts, parts_in, chunks, vectors, bytes`

const SHOW = 'UPDATE toolyard.knowledge_versions SET visible = true WHERE id = $1'

const REMOVE = 'DELETE FROM toolyard.knowledge_versions WHERE id = $1 RETURNING chunks, vectors, bytes'

const SWEEP = `
  DELETE FROM toolyard.knowledge_versions WHERE id = ANY (ARRAY(
    SELECT versions.id FROM toolyard.knowledge_versions AS versions
    JOIN toolyard.knowledge_collections AS collections ON collections.id = versions.collection
    WHERE NOT versions.visible AND versions.put_at < $1 AND NOT collections.gone LIMIT $2
  )) AND NOT visible AND put_at < $1 RETURNING parts_in, collection, bytes`

const EMPTY = `
  DELETE FROM toolyard.knowledge_versions WHERE id = ANY (ARRAY(
    SELECT versions.id FROM toolyard.knowledge_collections AS collections
    JOIN toolyard.knowledge_versions AS versions ON versions.collection = collections.id
    WHERE collections.gone LIMIT $1
  ))`

const FORGET = `
  DELETE FROM toolyard.knowledge_collections AS collections WHERE gone
    AND NOT EXISTS (SELECT FROM toolyard.knowledge_versions WHERE collection = collections.id)`

interface Swept {
  readonly parts_in: number
  readonly collection: number
  readonly bytes: number
}

/** Documents and their versions. Removing a version removes its parts, chunks and vectors. */
class PostgresDocuments {
  readonly #database: PostgresDatabase
  readonly #collections: PostgresCollections
  readonly #vectors: PostgresChunkVectors
  readonly #clock: Clock

  constructor(
    database: PostgresDatabase,
    parts: {
      readonly collections: PostgresCollections
      readonly vectors: PostgresChunkVectors
      readonly clock: Clock
    },
  ) {
    this.#database = database
    this.#collections = parts.collections
    this.#vectors = parts.vectors
    this.#clock = parts.clock
  }

  put(given: DocumentPart, quota?: Quota): Promise<{ readonly complete: boolean; readonly chunks: number }> {
    const part = checkPart(given)
    return this.#database.transaction(async (statements) => {
      const { tenant, document_id } = part
      const collection = await this.#collections.get(tenant, part.collection, statements)
      for (const { vector } of part.chunks) if (vector !== undefined) checkVectorOf(collection, vector)
      await statements.run(LOCK, [collection.id, document_id])
      const visible = await first<VersionRow>(statements, VISIBLE, [collection.id, document_id])
      if (visible?.version === part.version) return { complete: true, chunks: visible.chunks }
      if (quota !== undefined) {
        const usage = await first<Usage>(statements, USAGE_SQL, [tenant])
        checkPartQuota(part, quota, usage as Usage, visible === undefined)
      }
      const { staged, bytes } = await this.#add(statements, collection.id, part)
      const complete = staged.parts_in === staged.parts
      if (complete) await this.#show(statements, collection.id, staged, visible, bytes)
      else await this.#collections.grow(statements, collection.id, { documents: 0, chunks: 0, vectors: 0, bytes })
      return { complete, chunks: staged.chunks }
    }, WRITE_MS)
  }

  async find(
    tenant: string,
    name: string,
    document: string,
  ): Promise<{ readonly version: string; readonly chunks: number } | undefined> {
    const collection = await this.#collections.find(tenant, name)
    const row = collection && (await first<VersionRow>(this.#database, VISIBLE, [collection.id, document]))
    return row && { version: row.version, chunks: row.chunks }
  }

  async staged(
    tenant: string,
    name: string,
    document: string,
    prefix: string,
  ): Promise<{ readonly version: string; readonly parts: number } | undefined> {
    const collection = await this.#collections.find(tenant, name)
    return collection && first(this.#database, NEWEST_STAGED, [collection.id, document, prefix])
  }

  remove(tenant: string, name: string, document: string): Promise<boolean> {
    return this.#database.transaction(async (statements) => {
      const collection = await this.#collections.find(tenant, name, statements)
      if (collection === undefined) return false
      await statements.run(LOCK, [collection.id, document])
      const visible = await first<VersionRow>(statements, VISIBLE, [collection.id, document])
      if (visible === undefined) return false
      const { chunks, vectors, bytes } = await this.#removed(statements, visible)
      const growth = { documents: -1, chunks: -chunks, vectors: -vectors, bytes: -bytes }
      await this.#collections.grow(statements, collection.id, growth)
      return true
    }, WRITE_MS)
  }

  async sweep(before: number): Promise<number> {
    let parts = 0
    for (;;) {
      const { rows } = await this.#long(async (statements) => {
        const swept = await statements.run<Swept>(SWEEP, [before, VERSIONS_AT_ONCE])
        // Locks rows in a fixed order to avoid deadlocks.
        for (const { collection, bytes } of swept.rows.toSorted((a, b) => a.collection - b.collection)) {
          await this.#collections.grow(statements, collection, { documents: 0, chunks: 0, vectors: 0, bytes: -bytes })
        }
        return swept
      })
      for (const { parts_in } of rows) parts += parts_in
      if (rows.length === 0) return parts
    }
  }

  /** Removes a part of what dropped collections left; returns whether there was something. */
  async clean(): Promise<boolean> {
    const { count } = await this.#long((statements) => statements.run(EMPTY, [VERSIONS_AT_ONCE]))
    if (count === 0) await this.#database.run(FORGET)
    return count > 0
  }

  /** Adds a part unless it is stored already. Returns the version, and by how much the collection has grown. */
  async #add(
    statements: Statements,
    collection: number,
    part: DocumentPart,
  ): Promise<{ readonly staged: VersionRow; readonly bytes: number }> {
    const { staged, freed } = await this.#staged(statements, collection, part)
    const values = [staged.id, part.part, part.source, JSON.stringify(part.metadata)]
    const row = await first<{ id: number }>(statements, ADD_PART, values)
    if (row === undefined) return { staged, bytes: -freed }
    const { chunks } = part
    const { rows } = await statements.run<{ id: number; position: number }>(ADD_CHUNKS, [
      collection,
      row.id,
      chunks.map(({ position }) => position),
      chunks.map(({ start }) => start),
      chunks.map(({ end }) => end),
      chunks.map(({ heading }) => heading),
      chunks.map(({ text }) => text),
      chunks.map(({ heading }) => searchWords(heading).join(' ')),
      chunks.map(({ text }) => searchWords(text).join(' ')),
    ])
    const vectors = new Map(chunks.map(({ position, vector }) => [position, vector]))
    const kept = rows.map(({ id, position }) => ({ chunk: id, vector: vectors.get(position) }))
    await this.#vectors.add(statements, collection, kept)
    const known = kept.filter(({ vector }) => vector !== undefined).length
    const bytes = bytesOf(part)
    const growth = [staged.id, chunks.length, known, this.#clock.wall(), bytes]
    return { staged: (await first<VersionRow>(statements, GROW, growth)) as VersionRow, bytes: bytes - freed }
  }

  /** A staged version with another number of parts is replaced. */
  async #staged(
    statements: Statements,
    collection: number,
    part: DocumentPart,
  ): Promise<{ readonly staged: VersionRow; readonly freed: number }> {
    const { document_id, version, parts } = part
    const staged = await first<VersionRow>(statements, STAGED, [collection, document_id, version])
    if (staged?.parts === parts) return { staged, freed: 0 }
    const removed = staged && (await this.#removed(statements, staged))
    const values = [collection, document_id, version, parts, this.#clock.wall()]
    return { staged: (await first<VersionRow>(statements, STAGE, values)) as VersionRow, freed: removed?.bytes ?? 0 }
  }

  async #show(
    statements: Statements,
    collection: number,
    staged: VersionRow,
    before: VersionRow | undefined,
    bytes: number,
  ): Promise<void> {
    const gone = before && (await this.#removed(statements, before))
    await statements.run(SHOW, [staged.id])
    await this.#collections.grow(statements, collection, {
      documents: gone === undefined ? 1 : 0,
      chunks: staged.chunks - (gone?.chunks ?? 0),
      vectors: staged.vectors - (gone?.vectors ?? 0),
      bytes: bytes - (gone?.bytes ?? 0),
    })
  }

  /** Returns the counts at removal: vectors may have been added since the row was read. */
  async #removed(
    statements: Statements,
    { id }: VersionRow,
  ): Promise<Pick<VersionRow, 'chunks' | 'vectors' | 'bytes'>> {
    const row = await first<Pick<VersionRow, 'chunks' | 'vectors' | 'bytes'>>(statements, REMOVE, [id])
    return row ?? { chunks: 0, vectors: 0, bytes: 0 }
  }

  #long<T>(work: (statements: Statements) => Promise<T>): Promise<T> {
    return this.#database.transaction(work, WRITE_MS)
  }
}

async function first<Row>(statements: Statements, text: string, values: readonly unknown[]): Promise<Row | undefined> {
  return (await statements.run<Row>(text, values)).rows[0]
}

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
