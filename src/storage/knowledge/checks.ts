import type {
  DocumentPart,
  KnowledgeChunk,
  KnowledgeQuery,
  KnowledgeStore,
} from '../../core/storage/knowledge-store.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { refuseNul } from '../nul.ts'
import type { CollectionRow } from './collection-row.ts'

/** How much of one thing is kept. Lengths are in characters; a database must be able to hold names in an index. */
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
  /** What is written at once must not hold up everything else for long. */
  chunksOfPart: 1_000,
  parts: 100_000,
  collectionsOfTenant: 1_000,
  dimensions: 8_192,
  hits: 1_000,
  query: 100_000,
  /** Of different words in a query: the time that it takes grows with them. */
  queryWords: 400,
  /** Vectors kept by content; the oldest go. */
  knownVectors: 200_000,
} as const

/** A text that every engine keeps as it is: no NUL, no half of a character, no longer than it may be. */
export function checkText(what: string, text: unknown, most: number): string {
  if (typeof text !== 'string') throw refused(`${what} must be a text`)
  if (text.length > most) {
    throw refused(`${what} has ${text.length} characters: the store takes ${most}, so make it shorter`)
  }
  refuseNul([text])
  return text.toWellFormed()
}

/** A text that names something. */
export function checkName(what: string, name: unknown, most: number): string {
  if (name === '') throw refused(`${what} must not be empty`)
  return checkText(what, name, most)
}

export function checkCount(what: string, count: unknown, least: number, most: number): number {
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= least && count <= most) return count
  throw refused(`${what} must be a whole number from ${least} to ${most}, not ${count}`)
}

const SHOWN = 60

/** What was asked of the store is a mistake of who asks. */
export const refused = (message: string): ToolExecutionError => new ToolExecutionError('INVALID_PARAMETERS', message)

/** A value as it may stand in a sentence. */
export const quoted = (value: string): string => `'${value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value}'`

/** What a collection is opened with. */
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
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
    throw refused(`${what} must be an object of texts`)
  }
  const entries = Object.entries(metadata)
  if (entries.length > KNOWLEDGE_BOUNDS.metadataKeys) {
    throw refused(`${what} has ${entries.length} keys: the store takes ${KNOWLEDGE_BOUNDS.metadataKeys}`)
  }
  const checked = entries.map(([key, value]) => {
    const name = checkName(`A key of the ${what}`, key, KNOWLEDGE_BOUNDS.metadataKey)
    return [name, checkText(`'${name}' of the ${what}`, value, KNOWLEDGE_BOUNDS.metadataValue)] as const
  })
  // The order in which keys come is no difference.
  return Object.fromEntries(checked.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** What rounding may make of a length of 1. */
const TOLERANCE = 0.01

/** Only vectors of length 1 can be compared by their cosine. */
export function checkVector(vector: unknown): Float32Array {
  if (!(vector instanceof Float32Array)) throw refused('A vector must be a Float32Array')
  let squares = 0
  for (const value of vector) squares += value * value
  const length = Math.sqrt(squares)
  // No number at all is not near 1 either.
  if (!(Math.abs(length - 1) <= TOLERANCE)) {
    throw refused(`A vector must be of length 1, and this one has ${length}: divide its numbers by that`)
  }
  return vector
}

/** A vector of what a collection's vectors are made by. */
export function checkVectorOf(collection: CollectionRow, vector: unknown): Float32Array {
  const { name, embedder, dimensions } = collection
  if (embedder === null) {
    throw refused(`Collection ${quoted(name)} has no embedder: open it with one before vectors are put`)
  }
  const checked = checkVector(vector)
  if (checked.length !== dimensions) {
    throw refused(
      `Collection ${quoted(name)} holds vectors of ${dimensions} dimensions, made by ${quoted(embedder)}: ` +
        `one of ${checked.length} was given, so use that embedder`,
    )
  }
  return checked
}

/** How much is looked for, and of what; a filter without keys is none. */
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

/** A part that can be kept; its vectors are for the collection to check. */
export function checkPart(part: DocumentPart): DocumentPart {
  const parts = checkCount('`parts`', part.parts, 1, KNOWLEDGE_BOUNDS.parts)
  if (part.chunks.length > KNOWLEDGE_BOUNDS.chunksOfPart) {
    throw refused(
      `A part has ${part.chunks.length} chunks: the store takes ${KNOWLEDGE_BOUNDS.chunksOfPart}, so make more parts`,
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

/** Where a chunk stands is kept as 32 bits. */
const FURTHEST = 2_147_483_647

function checkChunk(chunk: KnowledgeChunk): KnowledgeChunk {
  const start = checkCount('The start of a chunk', chunk.start, 0, FURTHEST)
  return {
    position: checkCount('The position of a chunk', chunk.position, 0, FURTHEST),
    start,
    end: checkCount('The end of a chunk', chunk.end, start, FURTHEST),
    heading: checkText('The heading of a chunk', chunk.heading, KNOWLEDGE_BOUNDS.heading),
    text: checkText('The text of a chunk', chunk.text, KNOWLEDGE_BOUNDS.text),
    ...(chunk.vector !== undefined && { vector: chunk.vector }),
  }
}
