import type { EmbeddingPurpose } from '../embedder.ts'

interface KnownModel {
  readonly dimensions?: number
  /** What the model was trained to see before a text of this purpose. */
  readonly document?: string
  readonly query?: string
}

const PASSAGES = 'Represent this sentence for searching relevant passages: '

/** What is known of models by their name; sizes only where all variants of the name have the same. */
const KNOWN: Readonly<Record<string, KnownModel>> = {
  'text-embedding-3-small': { dimensions: 1536 },
  'text-embedding-3-large': { dimensions: 3072 },
  'text-embedding-ada-002': { dimensions: 1536 },
  'gemini-embedding-001': { dimensions: 3072 },
  'all-minilm': { dimensions: 384 },
  'bge-m3': { dimensions: 1024 },
  'mxbai-embed-large': { dimensions: 1024, query: PASSAGES },
  'nomic-embed-text': { dimensions: 768, document: 'search_document: ', query: 'search_query: ' },
  'snowflake-arctic-embed': { query: PASSAGES },
  embeddinggemma: { dimensions: 768, document: 'title: none | text: ', query: 'task: search result | query: ' },
}

/** `nomic-ai/nomic-embed-text:v1.5` is known as `nomic-embed-text`. */
function knownModel(model: string): KnownModel {
  const name = ((model.split('/').at(-1) ?? '').split(':')[0] ?? '').toLowerCase()
  return Object.hasOwn(KNOWN, name) ? (KNOWN[name] as KnownModel) : {}
}

/** How many numbers a vector of the model has; undefined where only asking tells. */
export const knownDimensions = (model: string): number | undefined => knownModel(model).dimensions

/** The text as the model was trained to see it. */
export const forPurpose = (model: string, text: string, purpose: EmbeddingPurpose): string =>
  `${knownModel(model)[purpose] ?? ''}${text}`
