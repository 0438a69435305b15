import type { SQLInputValue } from 'node:sqlite'
import type { MetadataFilter } from '../../../core/storage/knowledge-store.ts'

/** A statement that gives ids of chunks, and the values that it takes. */
export interface ChunkFilter {
  readonly sql: string
  readonly values: readonly SQLInputValue[]
}

const ONE_LABEL = 'SELECT part FROM knowledge_labels WHERE collection = ? AND key = ? AND value = ?'

/** The chunks of a collection whose metadata has every key of the filter with its value. */
export function chunkFilter(collection: number, filter: MetadataFilter): ChunkFilter {
  const labels = Object.entries(filter)
  const parts = labels.map(() => ONE_LABEL).join(' INTERSECT ')
  return {
    sql: ['SELECT id FROM knowledge_chunks WHERE part IN (', parts, ')'].join(''),
    values: labels.flatMap(([key, value]) => [collection, key, value]),
  }
}
