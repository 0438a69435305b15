import type { Embedder } from '../../src/knowledge/embedding/embedder.ts'
import { unitVectors } from './unit-vectors.ts'

export const DIMENSIONS = 384
const DIFFERENT = 1_024

/** An embedder that costs nothing: it hands out vectors that it has already, so that all time is the pipeline's own. */
export function standInEmbedder(): Embedder {
  const next = unitVectors(DIMENSIONS, 3)
  const vectors = Array.from({ length: DIFFERENT }, () => next())
  let at = 0
  return {
    id: 'bench:stand-in',
    dimensions: DIMENSIONS,
    batch: 1_000,
    embed: async (texts) => texts.map(() => vectors[at++ % DIFFERENT] as Float32Array),
    close: async () => {},
  }
}
