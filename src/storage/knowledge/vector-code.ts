import type { CollectionRow } from './checks.ts'

/**
 * The thresholds, relative to the average number in a vector of length 1. Normally distributed numbers fall into each
 * of the four intervals equally often.
 */
const CUTS = [-0.67, 0, 0.67]

/**
 * A vector with three bits a number instead of 32: one for each threshold that the number exceeds. Codes differ in about
 * as many bits as their vectors are apart, so a scan of codes finds the candidates for an exact comparison.
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

/** A vector as it is stored, in the byte order of this machine. */
export const vectorBytes = (vector: Float32Array): Uint8Array =>
  new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)

/** Copies the bytes: drivers may return a part of a larger buffer. */
export function vectorOfBytes(bytes: Uint8Array): Float32Array {
  const vector = new Float32Array(bytes.byteLength / Float32Array.BYTES_PER_ELEMENT)
  new Uint8Array(vector.buffer).set(bytes)
  return vector
}

/** Comparing this many numbers takes about 25 ms: 20,833 vectors of 384 dimensions. */
const EXACT_NUMBERS = 8_000_000
/** Exact comparisons per requested hit after a scan of codes. */
const CANDIDATES_PER_HIT = 100
const MIN_CANDIDATES = 1_000
const MAX_CANDIDATES = 4_000

/**
 * How many vectors of a collection are compared exactly to find `most`: those with the nearest codes, or all if
 * undefined.
 */
export function candidatesOf({ vectors, dimensions }: CollectionRow, most: number): number | undefined {
  if (vectors * (dimensions ?? 0) <= EXACT_NUMBERS) return undefined
  return Math.max(most, Math.min(MAX_CANDIDATES, Math.max(MIN_CANDIDATES, most * CANDIDATES_PER_HIT)))
}
