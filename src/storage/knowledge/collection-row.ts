import type { Collection } from '../../core/storage/knowledge-store.ts'

/** A collection as it is kept; the counts are those of what is visible. */
export interface CollectionRow {
  readonly id: number
  readonly tenant: string
  readonly name: string
  readonly embedder: string | null
  readonly dimensions: number | null
  readonly documents: number
  readonly chunks: number
  readonly vectors: number
}

/** The row as the store can use it: where no vectors can be kept, what they would be made by does not count. */
export const usableRow = (row: CollectionRow, vectors: boolean): CollectionRow =>
  vectors ? row : { ...row, embedder: null, dimensions: null }

export const toCollection = ({
  tenant,
  name,
  embedder,
  dimensions,
  documents,
  chunks,
  vectors,
}: CollectionRow): Collection => ({
  tenant,
  name,
  embedder,
  dimensions,
  documents,
  chunks,
  without_vector: embedder === null ? 0 : chunks - vectors,
})

/** The number of a chunk; undefined for what cannot be one. */
export const chunkIdOf = (chunk_id: string): number | undefined =>
  /^[1-9]\d{0,14}$/.test(chunk_id) ? Number(chunk_id) : undefined
