import { hash, randomUUID } from 'node:crypto'
import type { KnowledgeChunk, KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { badParameter, quoted } from '../../kinds/builtin/read-parameter.ts'
import { checkMetadata } from '../../storage/knowledge/check-metadata.ts'
import { checkName, checkText } from '../../storage/knowledge/check-text.ts'
import { KNOWLEDGE_BOUNDS as LIMITS } from '../../storage/knowledge/knowledge-bounds.ts'
import { cleanText } from '../documents/document.ts'
import { contentVersion, documentId, splitDocument, splitOptions } from '../documents/split-document.ts'
import { textDocument } from '../documents/text-document.ts'
import { OWN_TENANT } from './own-docs.ts'

/** One part of a document, or all of it. */
export interface IngestPart {
  readonly tenant: string
  readonly collection: string
  readonly content: string
  /** Without it the document is known by its content. Several parts need one. */
  readonly document_id?: string
  /** The source that results name; the document's id by default. */
  readonly source?: string
  /** Kept on every chunk. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Characters that a chunk has at most. */
  readonly chunk_size?: number
  /** From 1. */
  readonly part?: number
  readonly parts?: number
  /**
   * Tells versions of a document in parts apart; the same in all parts of one. Without it, part 1 begins a version, and
   * the others join the one that was begun last.
   */
  readonly version?: string
  /** The chunks of the content, from a caller that has read the document with its structure. */
  readonly chunks?: readonly KnowledgeChunk[]
}

/** The result of storing a part. */
export interface Ingested {
  readonly document_id: string
  /** Chunks of the version that are in by now. */
  readonly chunks: number
  /** Whether the version is whole, and found. */
  readonly complete: boolean
}

/** How much is taken with one call: what a small model on a slow machine makes vectors of within a minute. */
export const MAX_CHUNKS = 100
export const MAX_CHARACTERS = 1_000_000

/** A part whose every value has been looked at, cut into chunks that have no vectors yet. */
interface PreparedPart {
  readonly tenant: string
  readonly collection: string
  readonly document_id: string
  /** Undefined if the part joins the version that was begun last. */
  readonly version: string | undefined
  /** From 0. */
  readonly part: number
  readonly parts: number
  readonly source: string
  readonly metadata: Readonly<Record<string, string>>
  readonly chunks: readonly KnowledgeChunk[]
}

/** Checks a part and splits it into chunks. Throws if it is invalid. */
export function preparePart(given: IngestPart, chunkSize: number): PreparedPart {
  const { part = 1, parts = 1 } = given
  const size = splitOptions({ chunkSize: given.chunk_size ?? chunkSize }).chunkSize
  checkParts(part, parts, given)
  if (given.content.length > MAX_CHARACTERS) {
    throw badParameter(
      `content has ${given.content.length} characters, and one call takes ${MAX_CHARACTERS}. ${DIVIDE}`,
    )
  }
  const metadata = checkMetadata('metadata', given.metadata ?? {})
  const text = cleanText(given.content)
  const document_id =
    given.document_id === undefined ? documentId(text) : checkName('document_id', given.document_id, LIMITS.documentId)
  const source = given.source === undefined ? document_id : checkText('source', given.source, LIMITS.source)
  const chunks = given.chunks ?? split(text, size, (part - 1) * MAX_CHUNKS)
  if (chunks.length > MAX_CHUNKS) {
    throw badParameter(`content makes ${chunks.length} chunks, and one call takes ${MAX_CHUNKS}. ${DIVIDE}`)
  }
  return {
    tenant: given.tenant,
    collection: checkName('collection', given.collection, LIMITS.collection),
    document_id,
    version: given.version === undefined ? ownVersion() : checkName('version', given.version, LIMITS.version),
    part: part - 1,
    parts,
    source,
    metadata,
    chunks,
  }

  function ownVersion(): string | undefined {
    if (parts > 1) return undefined
    const whole = [contentVersion(text, metadata, { chunkSize: size }), source, given.chunks ?? null]
    return hash('sha256', JSON.stringify(whole), 'hex').slice(0, 32)
  }
}

const DIVIDE =
  'Divide it between sections and send it as several calls with one document_id: part 1 of parts 3, then 2, then 3'

function checkParts(part: number, parts: number, { document_id }: IngestPart): void {
  if (!Number.isInteger(parts) || parts < 1 || parts > LIMITS.parts) {
    throw badParameter(`parts must be an integer from 1 to ${LIMITS.parts}, not ${parts}`)
  }
  if (!Number.isInteger(part) || part < 1 || part > parts) {
    throw badParameter(`part must be an integer from 1 to parts, which is ${parts}, not ${part}`)
  }
  if (parts > 1 && document_id === undefined) {
    throw badParameter("missing 'document_id', which says that the parts are of one document")
  }
}

function split(text: string, chunkSize: number, first: number): KnowledgeChunk[] {
  const pieces = splitDocument(textDocument(text, ''), { chunkSize })
  return pieces.map((piece) => ({ ...piece, position: first + piece.position }))
}

/** Holds, per document, the version begun last, as documents without chunks, which no search finds. */
const NOTES = 'begun'

/**
 * The version that a part belongs to which names none. The first part begins one, always a new one: a later part may
 * have changed where the first has not. The others join the one that was begun last, whichever server began it.
 */
export async function joinVersion(store: KnowledgeStore, part: PreparedPart): Promise<string> {
  if (part.part === 0) return begin(store, part)
  const begun = await store.document(OWN_TENANT, NOTES, noteOf(part))
  const [parts, version] = begun?.version.split('.') ?? []
  if (version !== undefined && Number(parts) === part.parts) return version
  const why =
    version === undefined ? 'no version of it has been begun' : `the version that was begun last has ${parts} parts`
  throw badParameter(
    `document ${quoted(part.document_id)}: ${why}, so part ${part.part + 1} of ${part.parts} belongs to none. ` +
      'Send part 1 first, or give all parts the same version',
  )
}

/** A version that is whole needs no note. */
export async function endVersion(store: KnowledgeStore, part: PreparedPart): Promise<void> {
  await store.remove(OWN_TENANT, NOTES, noteOf(part))
}

async function begin(store: KnowledgeStore, part: PreparedPart): Promise<string> {
  const version = randomUUID()
  await store.open(OWN_TENANT, NOTES, null)
  await store.put({
    tenant: OWN_TENANT,
    collection: NOTES,
    document_id: noteOf(part),
    version: `${part.parts}.${version}`,
    part: 0,
    parts: 1,
    source: '',
    metadata: {},
    chunks: [],
  })
  return version
}

const noteOf = ({ tenant, collection, document_id }: PreparedPart): string =>
  hash('sha256', JSON.stringify([tenant, collection, document_id]), 'hex')
