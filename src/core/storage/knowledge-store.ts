import type { Quota } from './quota.ts'

/** Owns Toolyard's docs; no tenant can have this name. */
export const OWN_TENANT = '(toolyard)'
/** The default collection. */
export const DOCS = 'docs'

export interface Collection {
  readonly tenant: string
  readonly name: string
  /** Such as `openai:text-embedding-3-small`; null: full text only. */
  readonly embedder: string | null
  readonly dimensions: number | null
  readonly documents: number
  readonly chunks: number
  readonly without_vector: number
}

export interface KnowledgeChunk {
  readonly position: number
  readonly text: string
  /** Offsets in the text of the document. */
  readonly start: number
  readonly end: number
  /** The headings above it, joined by ` › `. */
  readonly heading: string
  /** Undefined if not embedded yet, or if the collection has no embedder. */
  readonly vector?: Float32Array
}

export interface DocumentPart {
  readonly tenant: string
  readonly collection: string
  readonly document_id: string
  /** Identifies the version of the document; the same in all parts. */
  readonly version: string
  readonly part: number
  readonly parts: number
  readonly source: string
  readonly metadata: Readonly<Record<string, string>>
  readonly chunks: readonly KnowledgeChunk[]
}

export type MetadataFilter = Readonly<Record<string, string>>

export interface KnowledgeQuery {
  readonly tenant: string
  readonly collection: string
  readonly most: number
  readonly filter?: MetadataFilter
}

export interface KnowledgeHit {
  readonly chunk_id: string
  readonly document_id: string
  readonly source: string
  readonly position: number
  readonly start: number
  readonly end: number
  readonly heading: string
  readonly text: string
  readonly metadata: Readonly<Record<string, string>>
  /** Higher is better; only comparable within one search method. Cosine similarity for vectors. */
  readonly score: number
}

export interface ChunkWithoutVector {
  readonly chunk_id: string
  readonly text: string
  readonly heading: string
}

/** Documents in chunks, searchable by full text and by vectors. */
export interface KnowledgeStore {
  collections(tenant: string): Promise<Collection[]>
  collection(tenant: string, name: string): Promise<Collection | undefined>
  /**
   * Creates the collection if it doesn't exist. The caller must compare embedder and dimensions. A collection without
   * an embedder adopts the given one.
   */
  open(
    tenant: string,
    name: string,
    embedder: { readonly id: string; readonly dimensions: number } | null,
  ): Promise<Collection>
  /**
   * Stores one part of a version. When the last part is stored, the version becomes visible and replaces the previous
   * one, in one transaction. Parts and versions that are already stored change nothing. If several versions arrive
   * together, the last to be complete wins. Returns the number of stored chunks of the version. Rejects with RATE_LIMITED
   * if the tenant would exceed the quota.
   */
  put(part: DocumentPart, quota?: Quota): Promise<{ readonly complete: boolean; readonly chunks: number }>
  document(
    tenant: string,
    collection: string,
    document_id: string,
  ): Promise<{ readonly version: string; readonly chunks: number } | undefined>
  /** The latest incomplete version with this prefix, unless a later one is complete. */
  staged(
    tenant: string,
    collection: string,
    document_id: string,
    prefix: string,
  ): Promise<{ readonly version: string; readonly parts: number } | undefined>
  remove(tenant: string, collection: string, document_id: string): Promise<boolean>
  drop(tenant: string, collection: string): Promise<boolean>
  /** Full-text search; nothing in `text` is syntax. */
  byText(query: KnowledgeQuery & { readonly text: string }): Promise<KnowledgeHit[]>
  /** Search by cosine similarity of vectors of length 1. */
  byVector(query: KnowledgeQuery & { readonly vector: Float32Array }): Promise<KnowledgeHit[]>
  withoutVector(tenant: string, collection: string, most: number): Promise<ChunkWithoutVector[]>
  setVectors(
    tenant: string,
    collection: string,
    vectors: readonly { readonly chunk_id: string; readonly vector: Float32Array }[],
  ): Promise<void>
  /** Cached vectors by content hash, so that the same text is embedded once. */
  knownVectors(embedder: string, hashes: readonly string[]): Promise<ReadonlyMap<string, Float32Array>>
  keepVectors(
    embedder: string,
    vectors: readonly { readonly hash: string; readonly vector: Float32Array }[],
  ): Promise<void>
  /** Deletes older parts of versions that were never completed. */
  sweep(beforeMs: number): Promise<number>
}
