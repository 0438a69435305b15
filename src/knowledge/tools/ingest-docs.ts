import type { Handler } from '../../core/handler.ts'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import { badParameter, readInteger, readText, requireText } from '../../kinds/builtin/read-parameter.ts'
import { KNOWLEDGE_BOUNDS as MOST } from '../../storage/knowledge/checks.ts'
import type { Collections } from '../collections/collections.ts'
import { type Cut, type CutPiece, MOST_CHARACTERS, MOST_CHUNKS } from '../collections/ingest-part.ts'
import { DOCS } from '../collections/own-docs.ts'
import { LEAST_CHUNK_SIZE, MOST_CHUNK_SIZE } from '../documents/split-options.ts'
import type { ModelTool } from './model-tool.ts'

const TIMEOUT_MS = 60_000

/** `ingest_docs`: puts a document into one of the caller's collections. */
export function ingestDocsTool(collections: Collections): ModelTool {
  const handler: Handler = async (params, { tenant, signal, report }) => {
    const parts = readInteger(params, 'parts') ?? 1
    const given = {
      tenant,
      content: requireText(params, 'content', MOST_CHARACTERS),
      collection: readText(params, 'collection', MOST.collection) ?? DOCS,
      metadata: readMetadata(params),
      part: readInteger(params, 'part') ?? 1,
      parts,
      ...optional('document_id', readText(params, 'document_id', MOST.documentId)),
      ...optional('source', readText(params, 'source', MOST.source)),
      ...optional('version', readText(params, 'version', MOST.version)),
      ...optional('chunk_size', readInteger(params, 'chunk_size')),
      ...optional('cut', readCut(params)),
    }
    const onProgress = (progress: number, total: number) => report({ progress, total })
    const { document_id, chunks, complete } = await collections.ingest(given, { signal, onProgress })
    return { document_id, chunks, ...(parts > 1 && { complete }) }
  }
  return { definition, handler }
}

const optional = <Name extends string, Value>(name: Name, value: Value | undefined) =>
  (value === undefined ? {} : { [name]: value }) as { readonly [name in Name]?: Value }

function readMetadata({ metadata = {} }: Params): Readonly<Record<string, string>> {
  const isObject = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata)
  if (!isObject) throw badParameter('metadata must be an object of strings')
  const other = Object.entries(metadata).find(([, value]) => typeof value !== 'string')
  if (other !== undefined) throw badParameter(`metadata.${other[0].slice(0, 60)} must be a string`)
  return metadata as Readonly<Record<string, string>>
}

function readCut({ cut }: Params): Cut | undefined {
  if (cut === undefined) return undefined
  const { position, offset, pieces } = Object(cut) as Partial<Record<keyof Cut, unknown>>
  if (!isCount(position) || !isCount(offset) || !Array.isArray(pieces) || !pieces.every(isPiece)) {
    throw badParameter('cut must be {position, offset, pieces: [[start, end, heading]]}')
  }
  return { position, offset, pieces }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const isPiece = (piece: unknown): piece is CutPiece =>
  Array.isArray(piece) && piece.length === 3 && isCount(piece[0]) && isCount(piece[1]) && typeof piece[2] === 'string'

const definition: ToolDefinition = {
  name: 'ingest_docs',
  description:
    'Puts a document into a collection, where search finds it: it is cut into chunks, and what was there under the same ' +
    `document_id is replaced. One call takes about ${MOST_CHUNKS} chunks; a longer document goes in as several calls.`,
  parameters: {
    type: 'object',
    properties: {
      content: {
        type: 'string',
        maxLength: MOST_CHARACTERS,
        description: 'The document, or one part of it: plain text or Markdown.',
      },
      collection: {
        type: 'string',
        minLength: 1,
        maxLength: MOST.collection,
        default: DOCS,
        description: 'Where to put it; a collection that there is not is made.',
      },
      metadata: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'What is known about the document, such as its title or its author. It comes with every result.',
      },
      chunk_size: {
        type: 'integer',
        minimum: LEAST_CHUNK_SIZE,
        maximum: MOST_CHUNK_SIZE,
        description: 'Characters that a chunk has at most. Leave it out: what fits the embedding model is taken.',
      },
      document_id: {
        type: 'string',
        minLength: 1,
        maxLength: MOST.documentId,
        description: 'What the document is known by, such as its path. Without it, its content says which it is.',
      },
      part: { type: 'integer', minimum: 1, default: 1, description: 'Which part this is, in a document of several.' },
      parts: {
        type: 'integer',
        minimum: 1,
        maximum: MOST.parts,
        default: 1,
        description: 'How many parts the document has. It is found when the last one is in.',
      },
      source: { type: 'string', maxLength: MOST.source, description: 'What results name as the source: else the id.' },
      version: {
        type: 'string',
        minLength: 1,
        maxLength: MOST.version,
        description: 'The same text in all parts of one version, where parts are sent at the same time or again.',
      },
      cut: {
        type: 'object',
        description: 'Where the content is cut, by programs that know its structure.',
        required: ['position', 'offset', 'pieces'],
        additionalProperties: false,
        properties: {
          position: { type: 'integer', minimum: 0, description: 'Of the first piece in the document.' },
          offset: { type: 'integer', minimum: 0, description: 'Characters of the document before this content.' },
          pieces: {
            type: 'array',
            maxItems: MOST_CHUNKS,
            items: { type: 'array', items: {}, minItems: 3, maxItems: 3 },
            description: 'Of each piece its start and its end in the content, and its heading.',
          },
        },
      },
    },
    required: ['content'],
  },
  implementation: { type: 'builtin', handler: 'ingest_docs' },
  effect: 'idempotent',
  timeout_ms: TIMEOUT_MS,
}
