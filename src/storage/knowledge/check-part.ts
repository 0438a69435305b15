import type { DocumentPart, KnowledgeChunk } from '../../core/storage/knowledge-store.ts'
import { checkMetadata } from './check-metadata.ts'
import { checkCount, checkName, checkText } from './check-text.ts'
import { KNOWLEDGE_BOUNDS as MOST } from './knowledge-bounds.ts'
import { refused } from './refused.ts'

/** A part that can be kept; its vectors are for the collection to check. */
export function checkPart(part: DocumentPart): DocumentPart {
  const parts = checkCount('`parts`', part.parts, 1, MOST.parts)
  if (part.chunks.length > MOST.chunksOfPart) {
    throw refused(`A part has ${part.chunks.length} chunks: the store takes ${MOST.chunksOfPart}, so make more parts`)
  }
  const positions = new Set(part.chunks.map(({ position }) => position))
  if (positions.size < part.chunks.length) throw refused('Two chunks of a part have the same position')
  return {
    tenant: checkName('The tenant', part.tenant, MOST.tenant),
    collection: checkName('The name of a collection', part.collection, MOST.collection),
    document_id: checkName('The id of a document', part.document_id, MOST.documentId),
    version: checkName('The version of a document', part.version, MOST.version),
    part: checkCount('`part`', part.part, 0, parts - 1),
    parts,
    source: checkText('The source of a document', part.source, MOST.source),
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
    heading: checkText('The heading of a chunk', chunk.heading, MOST.heading),
    text: checkText('The text of a chunk', chunk.text, MOST.text),
    ...(chunk.vector !== undefined && { vector: chunk.vector }),
  }
}
