import { hash } from 'node:crypto'
import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { type Embedder, type EmbeddingPurpose, requireTexts } from './embedder.ts'

/** How many requests are on their way at a time. */
const CONCURRENCY = 4
/** Of all texts in a request: providers bound the tokens of one. */
const BATCH_CHARACTERS = 200_000
/** How many hashes are looked up at a time. */
const LOOKUP = 500

/** How many of the texts have their vector. */
export type EmbeddingProgress = (done: number, total: number) => void

/** The part of a store that keeps vectors by content. */
export type VectorCache = Pick<KnowledgeStore, 'knownVectors' | 'keepVectors'>

/** A text, and what it is known by. */
interface Wanted {
  readonly hash: string
  readonly text: string
}

/**
 * Embeds a text of a document once, whoever brings it: vectors are kept by content as soon as they come, so that what
 * was paid for before a failure is there for the next attempt. Questions are not kept: few are asked twice.
 */
export class CachedEmbedder implements Embedder {
  readonly #embedder: Embedder
  readonly #cache: VectorCache

  constructor(embedder: Embedder, cache: VectorCache) {
    this.#embedder = embedder
    this.#cache = cache
  }

  get id(): string {
    return this.#embedder.id
  }

  get dimensions(): number {
    return this.#embedder.dimensions
  }

  get batch(): number {
    return this.#embedder.batch
  }

  get maxCharacters(): number {
    return this.#embedder.maxCharacters ?? Number.POSITIVE_INFINITY
  }

  async embed(
    texts: readonly string[],
    purpose: EmbeddingPurpose,
    signal?: AbortSignal,
    onProgress: EmbeddingProgress = () => {},
  ): Promise<Float32Array[]> {
    signal?.throwIfAborted()
    requireTexts(texts)
    if (purpose === 'query') return this.#embedder.embed(texts, purpose, signal)
    const hashes = texts.map((text) => hash('sha256', text))
    const vectors = await this.#known([...new Set(hashes)])
    const times = Map.groupBy(hashes, (one) => one)
    let done = 0
    const tell = (found: Iterable<string>): void => {
      for (const one of found) done += times.get(one)?.length ?? 0
      onProgress(done, texts.length)
    }
    tell(vectors.keys())
    await this.#embedAll(missing(texts, hashes, vectors), signal, (batch, found) => {
      for (const [index, { hash }] of batch.entries()) vectors.set(hash, found[index] as Float32Array)
      tell(batch.map(({ hash }) => hash))
    })
    return inOneBuffer(hashes.map((one) => vectors.get(one) as Float32Array))
  }

  close(): Promise<void> {
    return this.#embedder.close()
  }

  async #known(hashes: readonly string[]): Promise<Map<string, Float32Array>> {
    const known = new Map<string, Float32Array>()
    for (let at = 0; at < hashes.length; at += LOOKUP) {
      const found = await this.#cache.knownVectors(this.id, hashes.slice(at, at + LOOKUP))
      // A model may have come to give longer vectors under the same name.
      for (const [hash, vector] of found) if (vector.length === this.dimensions) known.set(hash, vector)
    }
    return known
  }

  /** After a failure no request is begun; those on their way are waited for, because what they bring is kept. */
  async #embedAll(
    wanted: readonly Wanted[],
    signal: AbortSignal | undefined,
    onBatch: (batch: readonly Wanted[], vectors: readonly Float32Array[]) => void,
  ): Promise<void> {
    const batches = inBatches(wanted, this.batch)
    let failed = false
    const work = async (): Promise<void> => {
      for (let batch = batches.shift(); batch !== undefined && !failed; batch = batches.shift()) {
        try {
          signal?.throwIfAborted()
          const texts = batch.map(({ text }) => text)
          const vectors = inOneBuffer(await this.#embedder.embed(texts, 'document', signal))
          await this.#cache.keepVectors(
            this.id,
            batch.map(({ hash }, index) => ({ hash, vector: vectors[index] as Float32Array })),
          )
          onBatch(batch, vectors)
        } catch (error) {
          failed = true
          throw error
        }
      }
    }
    const ended = await Promise.allSettled(Array.from({ length: CONCURRENCY }, work))
    for (const one of ended) if (one.status === 'rejected') throw one.reason
  }
}

/** The texts without a vector, each once. */
function missing(
  texts: readonly string[],
  hashes: readonly string[],
  known: ReadonlyMap<string, Float32Array>,
): Wanted[] {
  const wanted = new Map<string, Wanted>()
  for (const [index, text] of texts.entries()) {
    const hash = hashes[index] as string
    if (!known.has(hash)) wanted.set(hash, { hash, text })
  }
  return [...wanted.values()]
}

function inBatches(wanted: readonly Wanted[], most: number): Wanted[][] {
  const batches: Wanted[][] = []
  let batch: Wanted[] = []
  let characters = 0
  for (const one of wanted) {
    if (batch.length === most || (batch.length > 0 && characters + one.text.length > BATCH_CHARACTERS)) {
      batches.push(batch)
      batch = []
      characters = 0
    }
    batch.push(one)
    characters += one.text.length
  }
  return batch.length === 0 ? batches : [...batches, batch]
}

/**
 * The same vectors over one buffer. They go to the thread of the store, where each buffer is made anew: thousands of small
 * ones a second, made in one thread and let go of in another, leave the memory full of holes.
 */
export function inOneBuffer(vectors: readonly Float32Array[]): Float32Array[] {
  const all = new Float32Array(vectors.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  return vectors.map((vector) => {
    all.set(vector, at)
    at += vector.length
    return all.subarray(at - vector.length, at)
  })
}
