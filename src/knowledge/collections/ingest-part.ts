import type { KnowledgeChunk } from '../../core/storage/knowledge-store.ts'

/** One part of a document, or all of it. */
export interface IngestPart {
  readonly tenant: string
  readonly collection: string
  readonly content: string
  /** Without it the document is known by its content. Several parts need one. */
  readonly document_id?: string
  /** Where the document comes from, as results name it: its id where nothing is said. */
  readonly source?: string
  /** Kept on every chunk. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Characters that a chunk has at most. */
  readonly chunk_size?: number
  /** From 1. */
  readonly part?: number
  readonly parts?: number
  /**
   * Tells versions of a document in parts apart; the same in all parts of one. Without it, part 1 begins a version, and
   * the others join the one that was begun last.
   */
  readonly version?: string
  /** The chunks of the content, from a caller that has read the document with its structure. */
  readonly chunks?: readonly KnowledgeChunk[]
}

/** What came of a part. */
export interface Ingested {
  readonly document_id: string
  /** Chunks of the version that are in by now. */
  readonly chunks: number
  /** Whether the version is whole, and found. */
  readonly complete: boolean
}

/** How much is taken with one call: what a small model on a slow machine makes vectors of within a minute. */
export const MOST_CHUNKS = 100
export const MOST_CHARACTERS = 1_000_000
