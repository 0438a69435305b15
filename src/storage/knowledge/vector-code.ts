import type { CollectionRow } from './collection-row.ts'

/**
 * Where a number is cut, in parts of what it is on average in a vector of length 1. So cut, one that is normally
 * distributed is in each of the four stretches equally often.
 */
const CUTS = [-0.67, 0, 0.67]

/**
 * A vector in three bits a number instead of 32: one for each cut that the number is beyond. By as many bits two codes
 * differ, by about as much their vectors do: a scan of codes finds which vectors are worth a look.
 *
 * Measured against one bit a number, on 100,000 random vectors of 384 dimensions: of the ten nearest 91 % instead of
 * 62 % are among the 1,000 nearest codes, and the scan takes a third longer.
 */
export function vectorCode(vector: Float32Array): Uint8Array {
  const code = new Uint8Array(Math.ceil((vector.length * CUTS.length) / 8))
  const scale = 1 / Math.sqrt(vector.length)
  let bit = 0
  for (const cut of CUTS) {
    const least = cut * scale
    for (const value of vector) {
      if (value > least) code[bit >> 3] = (code[bit >> 3] as number) | (1 << (bit & 7))
      bit++
    }
  }
  return code
}

/** A vector as the database keeps it: its numbers one after the other, in the order of this machine. */
export const vectorBytes = (vector: Float32Array): Uint8Array =>
  new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)

/** The vector that was kept as bytes, in memory of its own: what a driver gives may be a piece of something larger. */
export function vectorOfBytes(bytes: Uint8Array): Float32Array {
  const vector = new Float32Array(bytes.byteLength / Float32Array.BYTES_PER_ELEMENT)
  new Uint8Array(vector.buffer).set(bytes)
  return vector
}

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
