import { expect, test } from 'vitest'
import { candidatesOf } from './vector-code.ts'

const collection = (vectors: number, dimensions: number | null) => ({
  id: 1,
  tenant: 'acme',
  name: 'docs',
  embedder: 'test:some',
  documents: 1,
  chunks: vectors,
  vectors,
  dimensions,
})

test.each([
  [0, 384, 10, undefined],
  [20_000, 384, 10, undefined],
  [21_000, 384, 10, 1_000],
  [5_000, 1_536, 10, undefined],
  [6_000, 1_536, 10, 1_000],
  [1_000_000, 384, 25, 2_500],
  [1_000_000, 384, 1_000, 4_000],
  [1_000_000, null, 10, undefined],
])('of %i vectors of %i dimensions, for %i hits, %s are compared', (vectors, dimensions, most, expected) => {
  expect(candidatesOf(collection(vectors, dimensions), most)).toBe(expected)
})
