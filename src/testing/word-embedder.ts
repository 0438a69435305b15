import { hash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { Embedder } from '../knowledge/embedding/embedder.ts'

/** An embedder for tests that records its requests. */
export interface WordEmbedder extends Embedder {
  /** The texts of each request. */
  readonly requests: readonly (readonly string[])[]
  readonly closed: boolean
}

export interface WordEmbedderOptions {
  readonly id?: string
  readonly dimensions?: number
  readonly batch?: number
  readonly maxCharacters?: number
  /** Groups of words that share a vector. */
  readonly synonyms?: readonly (readonly string[])[]
  /** Called before each request is answered; if it throws, the request fails. */
  readonly before?: (texts: readonly string[]) => unknown
}

/**
 * Creates a deterministic embedder without a model: texts that share words or synonyms have similar vectors.
 */
export function wordEmbedder(options: WordEmbedderOptions = {}): WordEmbedder {
  const { id = 'stand-in:words', dimensions = 64, batch = 16, maxCharacters, synonyms = [], before } = options
  const meanings = new Map(synonyms.flatMap((words) => words.map((word) => [word, words[0] ?? word] as const)))
  const requests: (readonly string[])[] = []
  let closed = false
  return {
    id,
    dimensions,
    batch,
    ...(maxCharacters !== undefined && { maxCharacters }),
    requests,
    get closed() {
      return closed
    },
    async embed(texts, _purpose, signal) {
      signal?.throwIfAborted()
      requests.push(texts)
      await before?.(texts)
      await turn()
      signal?.throwIfAborted()
      return texts.map((text) => vectorOf(text, dimensions, meanings))
    },
    async close() {
      closed = true
    },
  }
}

/** Sums up the pseudo-random vectors of the words. */
function vectorOf(text: string, dimensions: number, meanings: ReadonlyMap<string, string>): Float32Array {
  const sum = new Float64Array(dimensions)
  for (const word of new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))) {
    const digest = hash('sha256', meanings.get(word) ?? word, 'buffer')
    for (let bit = 0; bit < 4; bit++) {
      const at = digest.readUInt32LE(bit * 4) % dimensions
      sum[at] = (sum[at] as number) + ((digest[16 + bit] as number) % 2 === 0 ? 1 : -1)
    }
  }
  const length = Math.hypot(...sum)
  if (length === 0) sum[0] = 1
  return Float32Array.from(sum, (value) => value / (length || 1))
}
