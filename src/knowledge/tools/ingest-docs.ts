import type { Handler } from '../../core/handler.ts'
import type { KnowledgeChunk } from '../../core/storage/knowledge-store.ts'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import { badParameter, readInteger, readText, requireText } from '../../kinds/builtin/read-parameter.ts'
import { KNOWLEDGE_BOUNDS as LIMITS } from '../../storage/knowledge/knowledge-bounds.ts'
import type { Collections } from '../collections/collections.ts'
import { MAX_CHARACTERS, MAX_CHUNKS } from '../collections/ingest-part.ts'
import { DOCS } from '../collections/own-docs.ts'
import { MAX_CHUNK_SIZE, MIN_CHUNK_SIZE } from '../documents/split-document.ts'
import type { ModelTool } from './model-tool.ts'

const TIMEOUT_MS = 60_000

/** Looks up the chunks of a part that a caller in this process has already split. */
export type FindChunks = (documentId: string, part: number) => readonly KnowledgeChunk[] | undefined

/** `ingest_docs`: puts a document into one of the caller's collections. */
export function ingestDocsTool(collections: Collections, findChunks?: FindChunks): ModelTool {
  const handler: Handler = async (params, { tenant, signal, report }) => {
    const parts = readInteger(params, 'parts') ?? 1
    const part = readInteger(params, 'part') ?? 1
    const documentId = readText(params, 'document_id', LIMITS.documentId)
    const given = {
      tenant,
      content: requireText(params, 'content', MAX_CHARACTERS),
      collection: readText(params, 'collection', LIMITS.collection) ?? DOCS,
      metadata: readMetadata(params),
      part,
      parts,
      ...optional('document_id', documentId),
      ...optional('source', readText(params, 'source', LIMITS.source)),
      ...optional('version', readText(params, 'version', LIMITS.version)),
      ...optional('chunk_size', readInteger(params, 'chunk_size')),
      ...optional('chunks', documentId === undefined ? undefined : findChunks?.(documentId, part)),
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

const definition: ToolDefinition = {
  name: 'ingest_docs',
  description:
    'Puts a document into a collection, where search finds it: it is cut into chunks, and what was there under the same ' +
    `document_id is replaced. One call takes about ${MAX_CHUNKS} chunks; a longer document goes in as several calls.`,
  parameters: {
    type: 'object',
    properties: {
      content: {
        type: 'string',
        maxLength: MAX_CHARACTERS,
        description: 'The document, or one part of it: plain text or Markdown.',
      },
      collection: {
        type: 'string',
        minLength: 1,
        maxLength: LIMITS.collection,
        default: DOCS,
        description: "Where to put it; created if it doesn't exist.",
      },
      metadata: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'What is known about the document, such as its title or its author. It comes with every result.',
      },
      chunk_size: {
        type: 'integer',
        minimum: MIN_CHUNK_SIZE,
        maximum: MAX_CHUNK_SIZE,
        description: 'Characters that a chunk has at most. Leave it out: what fits the embedding model is taken.',
      },
      document_id: {
        type: 'string',
        minLength: 1,
        maxLength: LIMITS.documentId,
        description: 'What the document is known by, such as its path. Without it, its content says which it is.',
      },
      part: { type: 'integer', minimum: 1, default: 1, description: 'Which part this is, in a document of several.' },
      parts: {
        type: 'integer',
        minimum: 1,
        maximum: LIMITS.parts,
        default: 1,
        description: 'How many parts the document has. It is found when the last one is in.',
      },
      source: {
        type: 'string',
        maxLength: LIMITS.source,
        description: 'What results name as the source: else the id.',
      },
      version: {
        type: 'string',
        minLength: 1,
        maxLength: LIMITS.version,
        description: 'The same text in all parts of one version, where parts are sent at the same time or again.',
      },
    },
    required: ['content'],
  },
  implementation: { type: 'builtin', handler: 'ingest_docs' },
  effect: 'idempotent',
  timeout_ms: TIMEOUT_MS,
}
