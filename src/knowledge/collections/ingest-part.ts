import { hash, randomUUID } from 'node:crypto'
import { quoted } from '../../core/schema/problem-words.ts'
import type { KnowledgeChunk, KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { badParameter } from '../../kinds/builtin/read-parameter.ts'
import { checkMetadata, checkName, checkText, KNOWLEDGE_BOUNDS as LIMITS } from '../../storage/knowledge/checks.ts'
import { cleanText } from '../documents/document.ts'
import { contentVersion, documentId, splitDocument, splitOptions } from '../documents/split-document.ts'
import { textDocument } from '../documents/text-document.ts'

/** A document, or one part of it. */
export interface IngestPart {
  readonly tenant: string
  readonly collection: string
  readonly content: string
  /** Required for several parts; by default a hash of the content. */
  readonly document_id?: string
  /** The source named in results; by default the document's id. */
  readonly source?: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly chunk_size?: number
  readonly part?: number
  readonly parts?: number
  /** The same in all parts of a version. By default part 1 starts a version, and the others join the latest one. */
  readonly version?: string
  /** The chunks, if the caller has already split the document. */
  readonly chunks?: readonly KnowledgeChunk[]
}

export interface Ingested {
  readonly document_id: string
  /** Chunks of this version stored so far. */
  readonly chunks: number
  /** Whether all parts are stored; only then searches find the document. */
  readonly complete: boolean
  /** Chunks that had no vector in time, if there are any: of this call, or of the collection if the document is stored already. */
  readonly without_vector?: number
}

/** Limits per call: a small model on a slow machine embeds this much in a minute. */
export const MAX_CHUNKS = 100
export const MAX_CHARACTERS = 1_000_000

/** A validated part, split into chunks without vectors. */
interface PreparedPart {
  readonly tenant: string
  readonly collection: string
  readonly document_id: string
  readonly version: string | undefined
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
      `content has ${given.content.length} characters, but one call accepts ${MAX_CHARACTERS}. ${SPLIT}`,
    )
  }
  const metadata = checkMetadata('metadata', given.metadata ?? {})
  const text = cleanText(given.content)
  const document_id =
    given.document_id === undefined ? documentId(text) : checkName('document_id', given.document_id, LIMITS.documentId)
  const source = given.source === undefined ? document_id : checkText('source', given.source, LIMITS.source)
  const chunks = given.chunks ?? split(text, size, (part - 1) * MAX_CHUNKS)
  if (chunks.length > MAX_CHUNKS) {
    throw badParameter(`content makes ${chunks.length} chunks, but one call accepts ${MAX_CHUNKS}. ${SPLIT}`)
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

const SPLIT =
  'Split it between sections, and send the parts with the same document_id: part 1 of parts 3, then 2, then 3'

function checkParts(part: number, parts: number, { document_id }: IngestPart): void {
  if (!Number.isInteger(parts) || parts < 1 || parts > LIMITS.parts) {
    throw badParameter(`parts must be an integer from 1 to ${LIMITS.parts}, not ${parts}`)
  }
  if (!Number.isInteger(part) || part < 1 || part > parts) {
    throw badParameter(`part must be an integer from 1 to parts, which is ${parts}, not ${part}`)
  }
  if (parts > 1 && document_id === undefined) {
    throw badParameter("missing 'document_id', which identifies the document of all parts")
  }
}

function split(text: string, chunkSize: number, first: number): KnowledgeChunk[] {
  const pieces = splitDocument(textDocument(text, ''), { chunkSize })
  return pieces.map((piece) => ({ ...piece, position: first + piece.position }))
}

/** The versions of parts that name none. */
const OWN_VERSION = 'begun '

/**
 * The version of a part that names none. Part 1 always starts a new one; other parts join the latest, on any server.
 */
export async function joinVersion(store: KnowledgeStore, part: PreparedPart): Promise<string> {
  if (part.part === 0) return OWN_VERSION + randomUUID()
  const begun = await store.staged(part.tenant, part.collection, part.document_id, OWN_VERSION)
  if (begun?.parts === part.parts) return begun.version
  const why = begun === undefined ? 'no version was started' : `the latest version has ${begun.parts} parts`
  throw badParameter(
    `document ${quoted(part.document_id)}: ${why}, so part ${part.part + 1} of ${part.parts} has no version. ` +
      'Send part 1 first, or give all parts the same version',
  )
}
