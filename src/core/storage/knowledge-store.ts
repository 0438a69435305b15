/** A collection of one tenant, and what its vectors are made by. */
export interface Collection {
  readonly tenant: string
  readonly name: string
  /** What its vectors are made by, such as `openai:text-embedding-3-small`; null: it has full text only. */
  readonly embedder: string | null
  readonly dimensions: number | null
  readonly documents: number
  readonly chunks: number
  /** Chunks that wait for their vector. */
  readonly without_vector: number
}

/** A piece of a document, ready to be kept. */
export interface KnowledgeChunk {
  /** In the document, from 0. */
  readonly position: number
  readonly text: string
  /** Where it stands in the text of the document. */
  readonly start: number
  readonly end: number
  /** The headings that it stands under, joined by ` › `; empty where there are none. */
  readonly heading: string
  /** Undefined where it is not known yet, or the collection has none. */
  readonly vector?: Float32Array
}

/** One part of a document, or all of it. */
export interface DocumentPart {
  readonly tenant: string
  readonly collection: string
  readonly document_id: string
  /** Tells versions of the document apart; the same in all parts of one. */
  readonly version: string
  /** From 0. */
  readonly part: number
  readonly parts: number
  readonly source: string
  readonly metadata: Readonly<Record<string, string>>
  readonly chunks: readonly KnowledgeChunk[]
}

/** Every key must have this value. */
export type MetadataFilter = Readonly<Record<string, string>>

/** What is looked for in a collection. */
export interface KnowledgeQuery {
  readonly tenant: string
  readonly collection: string
  readonly most: number
  readonly filter?: MetadataFilter
}

/** A chunk that was found. */
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
  /** The greater the better; of one way of searching only. Cosine similarity for vectors. */
  readonly score: number
}

/** A chunk that has no vector yet. */
export interface ChunkWithoutVector {
  readonly chunk_id: string
  readonly text: string
  readonly heading: string
}

/** Documents cut in chunks, found by their words and by their vectors. */
export interface KnowledgeStore {
  collections(tenant: string): Promise<Collection[]>
  collection(tenant: string, name: string): Promise<Collection | undefined>
  /**
   * Makes the collection where there is none. Gives it as it is: whether its embedder and dimensions are the wanted
   * ones is for the caller to judge. A collection without an embedder takes on the one given.
   */
  open(
    tenant: string,
    name: string,
    embedder: { readonly id: string; readonly dimensions: number } | null,
  ): Promise<Collection>
  /**
   * Keeps one part of a version. Nothing of it is found before the last missing part is in: with that, in one
   * transaction, the version becomes visible and the one before goes. A version that is visible already changes nothing,
   * nor does a part that is in already. Of several versions that come at the same time the last to be whole stays.
   * Gives how many chunks of the version are in.
   */
  put(part: DocumentPart): Promise<{ readonly complete: boolean; readonly chunks: number }>
  /** The visible version of a document. */
  document(
    tenant: string,
    collection: string,
    document_id: string,
  ): Promise<{ readonly version: string; readonly chunks: number } | undefined>
  /** Whether there was such a document. */
  remove(tenant: string, collection: string, document_id: string): Promise<boolean>
  drop(tenant: string, collection: string): Promise<boolean>
  /** By words; `text` is the user's, and nothing in it is syntax. */
  byText(query: KnowledgeQuery & { readonly text: string }): Promise<KnowledgeHit[]>
  /** By the cosine of vectors, which are of length 1. */
  byVector(query: KnowledgeQuery & { readonly vector: Float32Array }): Promise<KnowledgeHit[]>
  /** Visible chunks that wait for their vector. */
  withoutVector(tenant: string, collection: string, most: number): Promise<ChunkWithoutVector[]>
  setVectors(
    tenant: string,
    collection: string,
    vectors: readonly { readonly chunk_id: string; readonly vector: Float32Array }[],
  ): Promise<void>
  /** Vectors kept by content, so that the same text is embedded once: those that are known of the hashes asked for. */
  knownVectors(embedder: string, hashes: readonly string[]): Promise<ReadonlyMap<string, Float32Array>>
  keepVectors(
    embedder: string,
    vectors: readonly { readonly hash: string; readonly vector: Float32Array }[],
  ): Promise<void>
  /** Parts of versions that were never completed, older than this, go. */
  sweep(beforeMs: number): Promise<number>
}
