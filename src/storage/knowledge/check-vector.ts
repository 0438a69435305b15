import type { CollectionRow } from './collection-row.ts'
import { quoted, refused } from './refused.ts'

/** What rounding may make of a length of 1. */
const TOLERANCE = 0.01

/** Only vectors of length 1 can be compared by their cosine. */
export function checkVector(vector: unknown): Float32Array {
  if (!(vector instanceof Float32Array)) throw refused('A vector must be a Float32Array')
  let squares = 0
  for (const value of vector) squares += value * value
  const length = Math.sqrt(squares)
  // No number at all is not near 1 either.
  if (!(Math.abs(length - 1) <= TOLERANCE)) {
    throw refused(`A vector must be of length 1, and this one has ${length}: divide its numbers by that`)
  }
  return vector
}

/** A vector of what a collection's vectors are made by. */
export function checkVectorOf(collection: CollectionRow, vector: unknown): Float32Array {
  const { name, embedder, dimensions } = collection
  if (embedder === null) {
    throw refused(`Collection ${quoted(name)} has no embedder: open it with one before vectors are put`)
  }
  const checked = checkVector(vector)
  if (checked.length !== dimensions) {
    throw refused(
      `Collection ${quoted(name)} holds vectors of ${dimensions} dimensions, made by ${quoted(embedder)}: ` +
        `one of ${checked.length} was given, so use that embedder`,
    )
  }
  return checked
}
