import { hash } from 'node:crypto'
import type { KnowledgeChunk } from '../../core/storage/knowledge-store.ts'
import { badParameter } from '../../kinds/builtin/read-parameter.ts'
import { checkMetadata, checkName, checkText, KNOWLEDGE_BOUNDS as MOST } from '../../storage/knowledge/checks.ts'
import { cleanText } from '../documents/clean-text.ts'
import { contentVersion, documentId } from '../documents/document-ids.ts'
import { splitDocument } from '../documents/split-document.ts'
import { splitOptions } from '../documents/split-options.ts'
import { textDocument } from '../documents/text-document.ts'
import { type Cut, type IngestPart, MOST_CHARACTERS, MOST_CHUNKS } from './ingest-part.ts'

/** A part whose every value has been looked at, cut into chunks that have no vectors yet. */
export interface PreparedPart {
  readonly tenant: string
  readonly collection: string
  readonly document_id: string
  /** Undefined where it depends on which version was begun. */
  readonly version: string | undefined
  /** From 0. */
  readonly part: number
  readonly parts: number
  readonly source: string
  readonly metadata: Readonly<Record<string, string>>
  readonly chunks: readonly KnowledgeChunk[]
}

/** Checks a part and cuts it; throws where it cannot be taken. */
export function preparePart(given: IngestPart, chunkSize: number): PreparedPart {
  const { part = 1, parts = 1, cut } = given
  const size = splitOptions({ chunkSize: given.chunk_size ?? chunkSize }).chunkSize
  checkParts(part, parts, given)
  if (given.content.length > MOST_CHARACTERS) {
    throw badParameter(
      `content has ${given.content.length} characters, and one call takes ${MOST_CHARACTERS}. ${DIVIDE}`,
    )
  }
  const metadata = checkMetadata('metadata', given.metadata ?? {})
  const text = cut === undefined ? cleanText(given.content) : given.content.replaceAll('\0', '\ufffd').toWellFormed()
  const document_id =
    given.document_id === undefined ? documentId(text) : checkName('document_id', given.document_id, MOST.documentId)
  const source = given.source === undefined ? document_id : checkText('source', given.source, MOST.source)
  const chunks = cut === undefined ? split(text, size, (part - 1) * MOST_CHUNKS) : piecesOf(text, cut)
  if (chunks.length > MOST_CHUNKS) {
    throw badParameter(`content makes ${chunks.length} chunks, and one call takes ${MOST_CHUNKS}. ${DIVIDE}`)
  }
  return {
    tenant: given.tenant,
    collection: checkName('collection', given.collection, MOST.collection),
    document_id,
    version: given.version === undefined ? ownVersion() : checkName('version', given.version, MOST.version),
    part: part - 1,
    parts,
    source,
    metadata,
    chunks,
  }

  function ownVersion(): string | undefined {
    if (parts > 1) return undefined
    const whole = [contentVersion(text, metadata, { chunkSize: size }), source, cut ?? null]
    return hash('sha256', JSON.stringify(whole), 'hex').slice(0, 32)
  }
}

const DIVIDE =
  'Divide it between sections and send it as several calls with one document_id: part 1 of parts 3, then 2, then 3'

function checkParts(part: number, parts: number, { document_id }: IngestPart): void {
  if (!Number.isInteger(parts) || parts < 1 || parts > MOST.parts) {
    throw badParameter(`parts must be an integer from 1 to ${MOST.parts}, not ${parts}`)
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

function piecesOf(content: string, { position, offset, pieces }: Cut): KnowledgeChunk[] {
  return pieces.map(([start, end, heading], index) => {
    const within =
      Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end <= content.length
    if (!within)
      throw badParameter(`cut.pieces[${index}] must lie in the content, which has ${content.length} characters`)
    const text = content.slice(start, end).toWellFormed()
    return { position: position + index, text, start: offset + start, end: offset + end, heading }
  })
}
