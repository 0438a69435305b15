import type { CollectionRow } from './collection-row.ts'

/** Numbers that are compared one by one in some 25 ms: 20,833 vectors of 384 dimensions. */
const EXACT_NUMBERS = 8_000_000
/** Vectors that are compared exactly for each hit that is wanted, where codes are scanned first. */
const CANDIDATES_PER_HIT = 100
const LEAST_CANDIDATES = 1_000
const MOST_CANDIDATES = 4_000

/**
 * How many of a collection's vectors are compared exactly to find `most`: undefined means all of them, a number those
 * whose codes are nearest.
 */
export function candidatesOf({ vectors, dimensions }: CollectionRow, most: number): number | undefined {
  if (vectors * (dimensions ?? 0) <= EXACT_NUMBERS) return undefined
  return Math.max(most, Math.min(MOST_CANDIDATES, Math.max(LEAST_CANDIDATES, most * CANDIDATES_PER_HIT)))
}
