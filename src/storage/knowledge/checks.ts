import { quoted } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type {
  Collection,
  DocumentPart,
  KnowledgeChunk,
  KnowledgeQuery,
  KnowledgeStore,
} from '../../core/storage/knowledge-store.ts'
import { checkQuota, type Quota, type StoredUsage } from '../../core/storage/quota.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { refuseNul } from '../ledger/storable-text.ts'

/** Limits. Lengths are in characters. Names are short enough for an index. */
export const KNOWLEDGE_BOUNDS = {
  tenant: 255,
  collection: 255,
  documentId: 512,
  version: 128,
  embedder: 255,
  hash: 255,
  source: 4_096,
  heading: 10_000,
  text: 100_000,
  metadataKeys: 64,
  metadataKey: 255,
  metadataValue: 4_096,
  /** One write must not block others for long. */
  chunksOfPart: 1_000,
  parts: 100_000,
  collectionsOfTenant: 1_000,
  dimensions: 8_192,
  hits: 1_000,
  query: 100_000,
  /** Different words in a query. */
  queryWords: 400,
  /** Vectors stored by content; the oldest are removed. */
  knownVectors: 200_000,
} as const

/** A text that every engine stores unchanged. */
export function checkText(what: string, text: unknown, most: number): string {
  if (typeof text !== 'string') throw refused(`${what} must be a string`)
  if (text.length > most) {
    throw refused(`${what} has ${text.length} characters: the limit is ${most}`)
  }
  refuseNul([text])
  return text.toWellFormed()
}

export function checkName(what: string, name: unknown, most: number): string {
  if (name === '') throw refused(`${what} must not be empty`)
  return checkText(what, name, most)
}

export function checkCount(what: string, count: unknown, least: number, most: number): number {
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= least && count <= most) return count
  throw refused(`${what} must be a whole number from ${least} to ${most}, not ${count}`)
}

/** An error of the caller. */
export const refused = (message: string): ToolExecutionError => new ToolExecutionError('INVALID_PARAMETERS', message)

export function checkCollection(...[tenant, name, embedder]: Parameters<KnowledgeStore['open']>): {
  readonly tenant: string
  readonly name: string
  readonly embedder: string | null
  readonly dimensions: number | null
} {
  return {
    tenant: checkName('The tenant', tenant, KNOWLEDGE_BOUNDS.tenant),
    name: checkName('The name of a collection', name, KNOWLEDGE_BOUNDS.collection),
    embedder: embedder && checkName('The embedder', embedder.id, KNOWLEDGE_BOUNDS.embedder),
    dimensions:
      embedder && checkCount('The dimensions of an embedder', embedder.dimensions, 1, KNOWLEDGE_BOUNDS.dimensions),
  }
}

/** The metadata of a document, or a filter for it, by key. */
export function checkMetadata(what: string, metadata: unknown): Record<string, string> {
  if (!isObject(metadata)) {
    throw refused(`${what} must be an object of strings`)
  }
  const entries = Object.entries(metadata)
  if (entries.length > KNOWLEDGE_BOUNDS.metadataKeys) {
    throw refused(`${what} has ${entries.length} keys: the limit is ${KNOWLEDGE_BOUNDS.metadataKeys}`)
  }
  const checked = entries.map(([key, value]) => {
    const name = checkName(`A key of the ${what}`, key, KNOWLEDGE_BOUNDS.metadataKey)
    return [name, checkText(`'${name}' of the ${what}`, value, KNOWLEDGE_BOUNDS.metadataValue)] as const
  })
  // The order of keys does not matter.
  return Object.fromEntries(checked.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Allows for rounding. */
const TOLERANCE = 0.01

/** Only vectors of length 1 can be compared by their cosine. */
export function checkVector(vector: unknown): Float32Array {
  if (!(vector instanceof Float32Array)) throw refused('A vector must be a Float32Array')
  let squares = 0
  for (const value of vector) squares += value * value
  const length = Math.sqrt(squares)
  // Also rejects NaN.
  if (!(Math.abs(length - 1) <= TOLERANCE)) {
    throw refused(`A vector must have length 1, not ${length}: normalize it`)
  }
  return vector
}

/** A vector of the collection's embedder. */
export function checkVectorOf(collection: CollectionRow, vector: unknown): Float32Array {
  const { name, embedder, dimensions } = collection
  if (embedder === null) {
    throw refused(`Collection ${quoted(name)} has no embedder: open it with one before adding vectors`)
  }
  const checked = checkVector(vector)
  if (checked.length !== dimensions) {
    throw refused(
      `Collection ${quoted(name)} has vectors of ${dimensions} dimensions from ${quoted(embedder)}, ` +
        `not of ${checked.length}: use that embedder`,
    )
  }
  return checked
}

/** A filter without keys counts as no filter. */
export function checkQuery({ most, filter }: KnowledgeQuery): {
  readonly most: number
  readonly filter: Readonly<Record<string, string>> | undefined
} {
  const checked = filter && checkMetadata('filter', filter)
  return {
    most: checkCount('`most`', most, 1, KNOWLEDGE_BOUNDS.hits),
    filter: checked && Object.keys(checked).length > 0 ? checked : undefined,
  }
}

/** Does not check vectors: that needs the collection. */
export function checkPart(part: DocumentPart): DocumentPart {
  const parts = checkCount('`parts`', part.parts, 1, KNOWLEDGE_BOUNDS.parts)
  if (part.chunks.length > KNOWLEDGE_BOUNDS.chunksOfPart) {
    throw refused(
      `A part has ${part.chunks.length} chunks: the limit is ${KNOWLEDGE_BOUNDS.chunksOfPart}, so split it into more parts`,
    )
  }
  const positions = new Set(part.chunks.map(({ position }) => position))
  if (positions.size < part.chunks.length) throw refused('Two chunks of a part have the same position')
  return {
    tenant: checkName('The tenant', part.tenant, KNOWLEDGE_BOUNDS.tenant),
    collection: checkName('The name of a collection', part.collection, KNOWLEDGE_BOUNDS.collection),
    document_id: checkName('The id of a document', part.document_id, KNOWLEDGE_BOUNDS.documentId),
    version: checkName('The version of a document', part.version, KNOWLEDGE_BOUNDS.version),
    part: checkCount('`part`', part.part, 0, parts - 1),
    parts,
    source: checkText('The source of a document', part.source, KNOWLEDGE_BOUNDS.source),
    metadata: checkMetadata('metadata', part.metadata),
    chunks: part.chunks.map(checkChunk),
  }
}

/** Positions are stored as 32 bits. */
const MAX_POSITION = 2_147_483_647

function checkChunk(chunk: KnowledgeChunk): KnowledgeChunk {
  const start = checkCount('The start of a chunk', chunk.start, 0, MAX_POSITION)
  return {
    position: checkCount('The position of a chunk', chunk.position, 0, MAX_POSITION),
    start,
    end: checkCount('The end of a chunk', chunk.end, start, MAX_POSITION),
    heading: checkText('The heading of a chunk', chunk.heading, KNOWLEDGE_BOUNDS.heading),
    text: checkText('The text of a chunk', chunk.text, KNOWLEDGE_BOUNDS.text),
    ...(chunk.vector !== undefined && { vector: chunk.vector }),
  }
}

/** A stored collection; only visible versions are counted. */
export interface CollectionRow {
  readonly id: number
  readonly tenant: string
  readonly name: string
  readonly embedder: string | null
  readonly dimensions: number | null
  readonly documents: number
  readonly chunks: number
  readonly vectors: number
}

/** Without support for vectors, the collection has no embedder. */
export const usableRow = (row: CollectionRow, vectors: boolean): CollectionRow =>
  vectors ? row : { ...row, embedder: null, dimensions: null }

export const toCollection = ({
  tenant,
  name,
  embedder,
  dimensions,
  documents,
  chunks,
  vectors,
}: CollectionRow): Collection => ({
  tenant,
  name,
  embedder,
  dimensions,
  documents,
  chunks,
  without_vector: embedder === null ? 0 : chunks - vectors,
})

/** The number of a chunk; undefined if the id is invalid. */
export const chunkIdOf = (chunk_id: string): number | undefined =>
  /^[1-9]\d{0,14}$/.test(chunk_id) ? Number(chunk_id) : undefined

/** The bytes of a part that count against the quota, besides its vectors. */
export function bytesOf({ chunks, source, metadata }: DocumentPart): number {
  const texts = [source, ...Object.entries(metadata).flat(), ...chunks.flatMap(({ text, heading }) => [text, heading])]
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

/** Throws if the tenant would exceed its quota with this part. */
export function checkPartQuota(part: DocumentPart, quota: Quota, usage: StoredUsage, isNew: boolean): void {
  const vectors = part.chunks.reduce((sum, { vector }) => sum + (vector?.byteLength ?? 0), 0)
  checkQuota(part.tenant, quota, usage, { documents: isNew ? 1 : 0, storage_bytes: bytesOf(part) + vectors })
}

/** Changes of the counts of a collection. */
export interface Growth {
  readonly documents: number
  readonly chunks: number
  readonly vectors: number
  /** Of complete and incomplete versions. */
  readonly bytes: number
}

/** A stored version of a document. */
export interface VersionRow {
  readonly id: number
  readonly version: string
  readonly parts: number
  readonly parts_in: number
  readonly chunks: number
  readonly vectors: number
  readonly bytes: number
}
