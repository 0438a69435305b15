import type { ChunkWithoutVector, KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { checkCount, checkName, checkVector, checkVectorOf, chunkIdOf, KNOWLEDGE_BOUNDS } from '../knowledge/checks.ts'
import { vectorBytes, vectorCode, vectorOfBytes } from '../knowledge/vector-code.ts'
import type { PostgresCollections } from './postgres-collections.ts'
import type { PostgresDatabase, Statements } from './postgres-database.ts'

const TYPE = "SELECT 'vector'::regtype::oid::bigint AS type"

const ADD_VECTORS = `
  INSERT INTO toolyard.knowledge_vectors (chunk, vector)
  SELECT added.chunk, added.vector FROM unnest($1::bigint[], $2::vector[]) AS added (chunk, vector)`

const ADD_CODES = `
  INSERT INTO toolyard.knowledge_codes (chunk, collection, code)
  SELECT added.chunk, $1, added.code::bit varying FROM unnest($2::bigint[], $3::text[]) AS added (chunk, code)`

const WAIT = 'INSERT INTO toolyard.knowledge_waiting (chunk, collection) SELECT unnest($1::bigint[]), $2'

const WAITING = `
  SELECT chunks.id::text AS chunk_id, chunks.text, chunks.heading
  FROM toolyard.knowledge_waiting AS waiting
  JOIN toolyard.knowledge_chunks AS chunks ON chunks.id = waiting.chunk
  JOIN toolyard.knowledge_parts AS parts ON parts.id = chunks.part
  JOIN toolyard.knowledge_versions AS versions ON versions.id = parts.version
  WHERE waiting.collection = $1 AND versions.visible ORDER BY waiting.chunk LIMIT $2`

/** Locks versions before their chunks, in a fixed order, to avoid deadlocks. */
const LOCK_VERSIONS = `
  SELECT id FROM toolyard.knowledge_versions WHERE id IN (
    SELECT parts.version FROM toolyard.knowledge_chunks AS chunks
    JOIN toolyard.knowledge_parts AS parts ON parts.id = chunks.part
    WHERE chunks.collection = $1 AND chunks.id = ANY ($2::bigint[])
  ) ORDER BY id FOR UPDATE`

const END_WAITING = `
  DELETE FROM toolyard.knowledge_waiting WHERE collection = $1 AND chunk = ANY ($2::bigint[]) RETURNING chunk`

const COUNT_IN = `
  WITH counted AS (
    SELECT parts.version, count(*) AS count FROM toolyard.knowledge_chunks AS chunks
    JOIN toolyard.knowledge_parts AS parts ON parts.id = chunks.part
    WHERE chunks.id = ANY ($1::bigint[]) GROUP BY parts.version
  ), grown AS (
    UPDATE toolyard.knowledge_versions AS versions SET vectors = versions.vectors + counted.count
    FROM counted WHERE versions.id = counted.version RETURNING versions.visible, counted.count
  )
  SELECT coalesce(sum(count), 0)::bigint AS count FROM grown WHERE visible`

/** A stored chunk, and its vector if it has one. */
interface KeptChunk {
  readonly chunk: number
  readonly vector: Float32Array | undefined
}

/** The vectors of chunks, and which chunks wait for theirs. */
export class PostgresChunkVectors {
  readonly #database: PostgresDatabase
  readonly #collections: PostgresCollections
  /** The object id of the type `vector`. */
  #type: number | undefined

  constructor(database: PostgresDatabase, collections: PostgresCollections) {
    this.#database = database
    this.#collections = collections
  }

  /** Inside a transaction. */
  async add(statements: Statements, collection: number, chunks: readonly KeptChunk[]): Promise<void> {
    const known: number[] = []
    const vectors: Float32Array[] = []
    const waiting: number[] = []
    for (const { chunk, vector } of chunks) {
      if (vector === undefined) waiting.push(chunk)
      else {
        known.push(chunk)
        vectors.push(vector)
      }
    }
    if (waiting.length > 0) await statements.run(WAIT, [waiting, collection])
    if (known.length === 0) return
    this.#type ??= (await statements.run<{ type: number }>(TYPE)).rows[0]?.type
    await statements.run(ADD_VECTORS, [known, vectorsValue(this.#type ?? 0, vectors)])
    await statements.run(ADD_CODES, [collection, known, vectors.map(codeValue)])
  }

  async waiting(tenant: string, name: string, most: number): Promise<ChunkWithoutVector[]> {
    const limit = checkCount('`most`', most, 1, KNOWLEDGE_BOUNDS.chunksOfPart)
    const collection = await this.#collections.find(tenant, name)
    if (collection === undefined || collection.embedder === null) return []
    const { rows } = await this.#database.run<ChunkWithoutVector>(WAITING, [collection.id, limit])
    return [...rows]
  }

  /** Ignores chunks that are removed, have a vector, or belong to another tenant. */
  async set(...[tenant, name, vectors]: Parameters<KnowledgeStore['setVectors']>): Promise<void> {
    const collection = await this.#collections.get(tenant, name)
    const given = new Map<number, Float32Array>()
    for (const { chunk_id, vector } of vectors) {
      const chunk = chunkIdOf(chunk_id)
      const checked = checkVectorOf(collection, vector)
      if (chunk !== undefined) given.set(chunk, checked)
    }
    if (given.size === 0) return
    await this.#database.transaction(async (statements) => {
      const asked = [...given.keys()]
      await statements.run(LOCK_VERSIONS, [collection.id, asked])
      const { rows } = await statements.run<{ chunk: number }>(END_WAITING, [collection.id, asked])
      const chunks = rows.map(({ chunk }) => ({ chunk, vector: given.get(chunk) }))
      await this.add(statements, collection.id, chunks)
      const counted = await statements.run<{ count: number }>(COUNT_IN, [chunks.map(({ chunk }) => chunk)])
      const visible = counted.rows[0]?.count ?? 0
      await this.#collections.grow(statements, collection.id, { documents: 0, chunks: 0, vectors: visible, bytes: 0 })
    })
  }
}

const INT16 = 2
const INT32 = 4
const FLOAT = 4
/** Dimensions, whether there are nulls, the type, the number of elements, and the lower bound. */
const ARRAY_HEAD = 5 * INT32
/** The number of dimensions, and two unused bytes. */
const VECTOR_HEAD = 2 * INT16

const sizeOf = (vector: Float32Array): number => VECTOR_HEAD + vector.length * FLOAT

/** The binary form of a vector, which is ten times as fast as text. */
export function vectorValue(vector: Float32Array): Buffer {
  const bytes = Buffer.alloc(sizeOf(vector))
  writeVector(bytes, 0, vector)
  return bytes
}

/** The binary form of an array of vectors; `type` is the object id of theirs. */
function vectorsValue(type: number, vectors: readonly Float32Array[]): Buffer {
  const size = vectors.reduce((sum, vector) => sum + INT32 + sizeOf(vector), ARRAY_HEAD)
  const bytes = Buffer.alloc(size)
  let at = 0
  for (const number of [1, 0, type, vectors.length, 1]) at = bytes.writeUInt32BE(number, at)
  for (const vector of vectors) at = writeVector(bytes, bytes.writeInt32BE(sizeOf(vector), at), vector)
  return bytes
}

/** The code of a vector as a bit string. */
export const codeValue = (vector: Float32Array): string => `x${Buffer.from(vectorCode(vector)).toString('hex')}`

function writeVector(bytes: Buffer, start: number, vector: Float32Array): number {
  let at = bytes.writeInt16BE(0, bytes.writeInt16BE(vector.length, start))
  for (const number of vector) at = bytes.writeFloatBE(number, at)
  return at
}

const GET = 'SELECT hash, vector FROM toolyard.known_vectors WHERE embedder = $1 AND hash = ANY ($2::text[])'

/** Locks rows in a fixed order to avoid deadlocks. */
const KEEP = `
  INSERT INTO toolyard.known_vectors (embedder, hash, vector)
  SELECT $1, kept.hash, kept.vector FROM unnest($2::text[], $3::bytea[]) AS kept (hash, vector)
  ORDER BY kept.hash COLLATE "C"
  ON CONFLICT (embedder, hash) DO UPDATE SET vector = excluded.vector`

/** Ids are unique and increasing, so at most this many rows are left. */
const FORGET = `
  DELETE FROM toolyard.known_vectors WHERE id <= (SELECT max(id) FROM toolyard.known_vectors) - $1`

/** Vectors by the hash of their text; the oldest are removed. */
export class PostgresKnownVectors {
  readonly #database: PostgresDatabase
  readonly #most: number

  constructor(database: PostgresDatabase, most: number = KNOWLEDGE_BOUNDS.knownVectors) {
    this.#database = database
    this.#most = most
  }

  async get(embedder: string, hashes: readonly string[]): Promise<Map<string, Float32Array>> {
    const { rows } = await this.#database.run<{ hash: string; vector: Uint8Array }>(GET, [embedder, hashes])
    return new Map(rows.map(({ hash, vector }) => [hash, vectorOfBytes(vector)]))
  }

  async keep(...[embedder, vectors]: Parameters<KnowledgeStore['keepVectors']>): Promise<void> {
    checkName('The embedder', embedder, KNOWLEDGE_BOUNDS.embedder)
    const kept = new Map<string, Buffer>()
    for (const { hash, vector } of vectors) {
      const { buffer, byteOffset, byteLength } = vectorBytes(checkVector(vector))
      kept.set(
        checkName('The hash of a text', hash, KNOWLEDGE_BOUNDS.hash),
        Buffer.from(buffer, byteOffset, byteLength),
      )
    }
    if (kept.size === 0) return
    await this.#database.run(KEEP, [embedder, [...kept.keys()], [...kept.values()]])
    await this.#database.run(FORGET, [this.#most])
  }
}
