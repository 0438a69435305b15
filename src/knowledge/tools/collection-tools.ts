import type { Handler } from '../../core/handler.ts'
import { quoted } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { DOCS, type KnowledgeChunk } from '../../core/storage/knowledge-store.ts'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import { badParameter, readInteger, readText, requireText } from '../../kinds/builtin/read-parameter.ts'
import { KNOWLEDGE_BOUNDS as LIMITS } from '../../storage/knowledge/checks.ts'
import type { Collections } from '../collections/collections.ts'
import { MAX_CHARACTERS, MAX_CHUNKS } from '../collections/ingest-part.ts'
import { MAX_CHUNK_SIZE, MIN_CHUNK_SIZE } from '../documents/split-document.ts'
import type { ModelTool } from './model-tool.ts'

const DEFAULT_RESULTS = 5
const MAX_RESULTS = 20
const MAX_QUERY = 1_000
const MAX_NAME = 255

/** `rag_query`: searches the caller's collections. */
export const ragQueryHandler =
  (collections: Collections): Handler =>
  async (params, { tenant, signal }) => {
    const query = readText(params, 'query', MAX_QUERY)
    if (query === undefined || query.trim() === '') throw badParameter('query must be a non-empty string')
    const collection = readText(params, 'collection', MAX_NAME) ?? DOCS
    const question = { tenant, collection, query, most: readMost(params), ...readFilter(params) }
    const { results } = await collections.search(question, { signal })
    return { results }
  }

function readMost({ max_results: most = DEFAULT_RESULTS }: Params): number {
  if (Number.isInteger(most) && (most as number) >= 1 && (most as number) <= MAX_RESULTS) return most as number
  throw badParameter(`max_results must be an integer from 1 to ${MAX_RESULTS}, not ${quoted(most)}`)
}

function readFilter({ filter }: Params): { readonly filter?: Readonly<Record<string, string>> } {
  if (filter === undefined) return {}
  const texts = isObject(filter)
  if (!texts || Object.values(filter).some((value) => typeof value !== 'string')) {
    throw badParameter('filter must be an object of strings')
  }
  return { filter: filter as Readonly<Record<string, string>> }
}

const TIMEOUT_MS = 60_000
/** The rest of the time is for the store. */
const EMBEDDING_SHARE = 0.6

/** Finds the chunks of a part that the caller has already split. */
export type FindChunks = (documentId: string, part: number) => readonly KnowledgeChunk[] | undefined

/** `ingest_docs`: stores a document in a collection. */
export function ingestDocsTool(collections: Collections, findChunks?: FindChunks): ModelTool {
  const handler: Handler = async (params, { tenant, signal, report, timeoutMs = TIMEOUT_MS }) => {
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
    const budgetMs = timeoutMs * EMBEDDING_SHARE
    const stored = await collections.ingest(given, { signal, onProgress, budgetMs })
    const { document_id, chunks, complete, without_vector } = stored
    return { document_id, chunks, ...(parts > 1 && { complete }), ...waiting(without_vector) }
  }
  return { definition, handler }
}

/** What is left for later if the embedding model was too slow. */
function waiting(count: number | undefined) {
  if (count === undefined) return {}
  const words = count === 1 ? '1 chunk has no vector yet and is' : `${count} chunks have no vector yet and are`
  const note = `Stored. ${words} found by words only. A server embeds the rest in the background; the same call again waits for more.`
  return { without_vector: count, note }
}

const optional = <Name extends string, Value>(name: Name, value: Value | undefined) =>
  (value === undefined ? {} : { [name]: value }) as { readonly [name in Name]?: Value }

function readMetadata({ metadata = {} }: Params): Readonly<Record<string, string>> {
  if (!isObject(metadata)) throw badParameter('metadata must be an object of strings')
  const other = Object.entries(metadata).find(([, value]) => typeof value !== 'string')
  if (other !== undefined) throw badParameter(`metadata.${other[0].slice(0, 60)} must be a string`)
  return metadata as Readonly<Record<string, string>>
}

const definition: ToolDefinition = {
  name: 'ingest_docs',
  description:
    'Stores a document in a collection for search, in chunks. Replaces an existing document with the same document_id. ' +
    `One call accepts about ${MAX_CHUNKS} chunks; send a longer document in parts.`,
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
        description: "The collection; created if it doesn't exist.",
      },
      metadata: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Metadata of the document, such as its title or author. Returned with every result.',
      },
      chunk_size: {
        type: 'integer',
        minimum: MIN_CHUNK_SIZE,
        maximum: MAX_CHUNK_SIZE,
        description: 'The maximum number of characters per chunk. By default, what fits the embedding model.',
      },
      document_id: {
        type: 'string',
        minLength: 1,
        maxLength: LIMITS.documentId,
        description: 'Identifies the document, such as its path. By default, a hash of the content.',
      },
      part: { type: 'integer', minimum: 1, default: 1, description: 'The number of this part.' },
      parts: {
        type: 'integer',
        minimum: 1,
        maximum: LIMITS.parts,
        default: 1,
        description: 'The number of parts. Searches find the document when all parts are stored.',
      },
      source: {
        type: 'string',
        maxLength: LIMITS.source,
        description: 'The source named in results; the document_id by default.',
      },
      version: {
        type: 'string',
        minLength: 1,
        maxLength: LIMITS.version,
        description: 'The same in all parts of one version, if parts are sent concurrently or again.',
      },
    },
    required: ['content'],
  },
  implementation: { type: 'builtin', handler: 'ingest_docs' },
  effect: 'idempotent',
  timeout_ms: TIMEOUT_MS,
}
