import type { MetadataFilter } from '../../core/storage/knowledge-store.ts'

/** By vectors and by words, or by one of them only. */
export type SearchWay = 'hybrid' | 'text' | 'vector'

/** What is looked for in a collection. */
export interface SearchQuestion {
  readonly tenant: string
  readonly collection: string
  readonly query: string
  readonly most: number
  readonly filter?: MetadataFilter
  /** `hybrid` where nothing is said. */
  readonly by?: SearchWay
}

/** A passage of a document. */
export interface SearchResult {
  readonly text: string
  /** From 0 to 1; comparable within one answer. */
  readonly score: number
  readonly source: string
  /** Of the passage in its document, from 0. */
  readonly position: number
  /** Of the document, and the heading that the passage stands under. */
  readonly metadata: Readonly<Record<string, string>>
}

/** What was found, best first. */
export interface SearchAnswer {
  readonly results: readonly SearchResult[]
  /** How it was looked for in the end. */
  readonly by: SearchWay
  /** What was left out and why, in a sentence. */
  readonly note?: string
}
