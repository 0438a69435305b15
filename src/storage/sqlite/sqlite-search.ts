import type { SQLInputValue } from 'node:sqlite'
import type { KnowledgeHit, KnowledgeStore, MetadataFilter } from '../../core/storage/knowledge-store.ts'
import { type CollectionRow, checkQuery, checkVectorOf } from '../knowledge/checks.ts'
import { queryWords } from '../knowledge/search-words.ts'
import { candidatesOf, vectorBytes, vectorCode } from '../knowledge/vector-code.ts'
import { SqliteCollections } from './sqlite-collections.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { anyOf, findWords } from './words-table.ts'

interface Scored {
  readonly chunk: number
  /** The lowest score is the best. */
  readonly score: number
}

interface HitRow extends Omit<KnowledgeHit, 'score' | 'metadata'> {
  readonly metadata: string
}

const ALL_VECTORS = `
  SELECT vectors.chunk, vec_distance_cosine(vectors.vector, ?) AS score
  FROM knowledge_codes AS codes JOIN knowledge_vectors AS vectors ON vectors.chunk = codes.chunk
  WHERE codes.collection = ? ORDER BY score, vectors.chunk LIMIT ?`

const NEAREST_CODES = `
  SELECT chunk FROM knowledge_codes WHERE collection = ?
  ORDER BY vec_distance_hamming(vec_bit(code), vec_bit(?)) LIMIT ?`

/** Finds chunks in one collection. */
export class SqliteSearch {
  readonly #database: SqliteDatabase
  readonly #collections: SqliteCollections

  constructor(database: SqliteDatabase) {
    this.#database = database
    this.#collections = new SqliteCollections(database)
  }

  byText(query: Parameters<KnowledgeStore['byText']>[0]): KnowledgeHit[] {
    const { most, filter } = checkQuery(query)
    const words = queryWords(query.text)
    if (words.length === 0) return []
    return this.#database.read(() => {
      const collection = this.#collections.find(query.tenant, query.collection)
      if (collection === undefined) return []
      const among = filter && chunkFilter(collection.id, filter)
      const found = this.#database.all<Scored>(
        findWords(collection.id, among?.sql),
        anyOf(words),
        ...(among?.values ?? []),
        most + this.#hidden(collection.id).chunks,
      )
      return this.#hits(collection.id, found, most, (score) => -score)
    })
  }

  byVector(query: Parameters<KnowledgeStore['byVector']>[0]): KnowledgeHit[] {
    const { most, filter } = checkQuery(query)
    return this.#database.read(() => {
      const collection = this.#collections.find(query.tenant, query.collection)
      if (collection === undefined || collection.embedder === null) return []
      const vector = checkVectorOf(collection, query.vector)
      const among = filter && chunkFilter(collection.id, filter)
      const found = this.#nearest(collection, vector, most, among)
      return this.#hits(collection.id, found, most, (score) => 1 - score)
    })
  }

  /** Hidden chunks are found, too, so the limit is raised by their number. */
  #nearest(
    collection: CollectionRow,
    vector: Float32Array,
    most: number,
    among: ChunkFilter | undefined,
  ): readonly Scored[] {
    const { id } = collection
    const hidden = this.#hidden(id).vectors
    const candidates = candidatesOf(collection, most)
    const bytes = vectorBytes(vector)
    if (candidates === undefined) {
      if (among === undefined) return this.#database.all<Scored>(ALL_VECTORS, bytes, id, most + hidden)
      return this.#compare(among, bytes, most + hidden)
    }
    const code = vectorCode(vector)
    const codes =
      among === undefined
        ? { sql: NEAREST_CODES, values: [id, code, candidates + hidden] }
        : {
            sql: [
              'SELECT codes.chunk FROM (',
              among.sql,
              `) AS among CROSS JOIN knowledge_codes AS codes ON codes.collection = ? AND codes.chunk = among.id
               ORDER BY vec_distance_hamming(vec_bit(codes.code), vec_bit(?)) LIMIT ?`,
            ].join(''),
            values: [...among.values, id, code, candidates + hidden],
          }
    return this.#compare(codes, bytes, most + hidden)
  }

  /** The chunks with the nearest vectors. */
  #compare(chunks: ChunkFilter, vector: Uint8Array, most: number): readonly Scored[] {
    const sql = [
      'SELECT chunk, vec_distance_cosine(vector, ?) AS score FROM knowledge_vectors WHERE chunk IN (',
      chunks.sql,
      ') ORDER BY score, chunk LIMIT ?',
    ].join('')
    return this.#database.all<Scored>(sql, vector, ...chunks.values, most)
  }

  /** Indexed chunks of incomplete and removed versions must not be found. */
  #hidden(collection: number): { readonly chunks: number; readonly vectors: number } {
    const row = this.#database.get<{ chunks: number; vectors: number }>(
      `SELECT coalesce(sum(chunks), 0) AS chunks, coalesce(sum(vectors), 0) AS vectors
       FROM knowledge_versions WHERE state <> 'visible' AND collection = ?`,
      collection,
    )
    return row as { chunks: number; vectors: number }
  }

  #hits(
    collection: number,
    found: readonly Scored[],
    most: number,
    scoreOf: (score: number) => number,
  ): KnowledgeHit[] {
    const rows = this.#database.all<HitRow>(
      `SELECT CAST(chunks.id AS TEXT) AS chunk_id, versions.document AS document_id, parts.source, chunks.position,
         chunks.start_at AS "start", chunks.end_at AS "end", chunks.heading, chunks.text, parts.metadata
       FROM json_each(?) AS found
       CROSS JOIN knowledge_chunks AS chunks ON chunks.id = found.value
       CROSS JOIN knowledge_parts AS parts ON parts.id = chunks.part
       CROSS JOIN knowledge_versions AS versions ON versions.id = parts.version
       WHERE versions.collection = ? AND versions.state = 'visible' ORDER BY found.key LIMIT ?`,
      JSON.stringify(found.map(({ chunk }) => chunk)),
      collection,
      most,
    )
    const scores = new Map(found.map(({ chunk, score }) => [String(chunk), score]))
    return rows.map((row) => ({
      ...row,
      metadata: JSON.parse(row.metadata),
      score: scoreOf(scores.get(row.chunk_id) as number),
    }))
  }
}

/** A query for ids of chunks, and its values. */
interface ChunkFilter {
  readonly sql: string
  readonly values: readonly SQLInputValue[]
}

const ONE_LABEL = 'SELECT part FROM knowledge_labels WHERE collection = ? AND key = ? AND value = ?'

/** The chunks of a collection whose metadata has every key of the filter with its value. */
function chunkFilter(collection: number, filter: MetadataFilter): ChunkFilter {
  const labels = Object.entries(filter)
  const parts = labels.map(() => ONE_LABEL).join(' INTERSECT ')
  return {
    sql: ['SELECT id FROM knowledge_chunks WHERE part IN (', parts, ')'].join(''),
    values: labels.flatMap(([key, value]) => [collection, key, value]),
  }
}
