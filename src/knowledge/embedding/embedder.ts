import { hash } from 'node:crypto'
import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { ModelError } from '../../models/model-error.ts'

export type EmbeddingPurpose = 'document' | 'query'

export interface Embedder {
  /** `provider:model`. Vectors of different models can't be compared. */
  readonly id: string
  readonly dimensions: number
  /** The maximum number of texts per request. */
  readonly batch: number
  /** Longer texts are probably cut off silently by the model. */
  readonly maxCharacters?: number
  /**
   * Returns unit vectors in order. Throws a `ModelError` or a `ToolExecutionError`. Tenants take turns at a model that runs
   * here.
   */
  embed(
    texts: readonly string[],
    purpose: EmbeddingPurpose,
    signal?: AbortSignal,
    tenant?: string,
  ): Promise<Float32Array[]>
  close(): Promise<void>
}

/** Providers reject blank texts, or return meaningless vectors. */
export function requireTexts(texts: readonly string[]): void {
  const blank = texts.findIndex((text) => text.trim() === '')
  if (blank === -1) return
  throw new ToolExecutionError('INVALID_PARAMETERS', `Text ${blank + 1} of ${texts.length} is empty: leave it out.`)
}

interface Expected {
  readonly count: number
  /** Undefined if not known yet. */
  readonly dimensions: number | undefined
}

/** Scales the vectors of a model to length 1. Throws a `ModelError` if they are invalid. */
export function unitVectors(given: unknown, { count, dimensions }: Expected): Float32Array[] {
  if (!Array.isArray(given))
    throw new ModelError('The response is not a list of vectors. Check that it is an embedding model.')
  if (given.length !== count) throw new ModelError(`Received ${given.length} vectors for ${count} texts.`)
  const length = dimensions ?? sizeOf(given[0])
  return given.map((vector, index) => unitVector(vector, index, length))
}

const sizeOf = (vector: unknown): number => (Array.isArray(vector) ? vector.length : 0)

function unitVector(given: unknown, index: number, length: number): Float32Array {
  const which = `Vector ${index + 1}`
  if (!Array.isArray(given) || given.length === 0) throw new ModelError(`${which} is empty.`)
  if (given.length !== length) {
    throw new ModelError(
      `${which} has ${given.length} dimensions, not ${length}. Vectors of different models cannot be mixed.`,
    )
  }
  let squares = 0
  for (const value of given) {
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw new ModelError(`${which} contains ${value}, which is not a number.`)
    squares += value * value
  }
  const norm = Math.sqrt(squares)
  if (norm === 0 || norm === Number.POSITIVE_INFINITY) {
    throw new ModelError(`${which} has no direction: its length is ${norm}.`)
  }
  return Float32Array.from(given, (value) => value / norm)
}

const CONCURRENCY = 4
/** Providers limit the tokens of a request. */
const BATCH_CHARACTERS = 200_000
const HASHES_PER_LOOKUP = 500

/** Called with the number of texts that have a vector. */
export type EmbeddingProgress = (done: number, total: number) => void

/** Stores vectors by content hash. */
export type VectorCache = Pick<KnowledgeStore, 'knownVectors' | 'keepVectors'>

interface HashedText {
  readonly hash: string
  readonly text: string
}

/**
 * Embeds each text of a document once per tenant, by content hash: a shared cache would tell a tenant, by its speed, which
 * texts others have. Stores vectors as they arrive, so that a retry doesn't pay for
 * them again. After a failure, starts no request but stores the results of running ones. When `late` aborts, it stops, and
 * the texts that wait get no vector.
 */
export async function embedDocuments(
  embedder: Embedder,
  cache: VectorCache,
  tenant: string,
  texts: readonly string[],
  signal?: AbortSignal,
  onProgress: EmbeddingProgress = () => {},
  late?: AbortSignal,
): Promise<(Float32Array | undefined)[]> {
  signal?.throwIfAborted()
  requireTexts(texts)
  const hashed = texts.map((text) => ({ hash: hash('sha256', JSON.stringify([tenant, text])), text }))
  const byHash = Map.groupBy(hashed, (one) => one.hash)
  const vectors = await knownVectors(embedder, cache, [...byHash.keys()])
  let done = 0
  const add = (hashes: Iterable<string>): void => {
    for (const one of hashes) done += byHash.get(one)?.length ?? 0
    onProgress(done, texts.length)
  }
  add(vectors.keys())
  const missing = [...byHash.values()].map(([one]) => one as HashedText).filter((one) => !vectors.has(one.hash))
  const batches = inBatches(missing, embedder.batch)
  const stop = signal && late ? AbortSignal.any([signal, late]) : (signal ?? late)
  let failed = false
  const worker = async (): Promise<void> => {
    for (let batch = batches.shift(); batch !== undefined && !failed; batch = batches.shift()) {
      try {
        stop?.throwIfAborted()
        const sent = batch.map(({ text }) => text)
        const received = inOneBuffer(await embedder.embed(sent, 'document', stop, tenant))
        const found = batch.map((one, index) => ({ hash: one.hash, vector: received[index] as Float32Array }))
        await cache.keepVectors(embedder.id, found)
        for (const one of found) vectors.set(one.hash, one.vector)
        add(found.map((one) => one.hash))
      } catch (error) {
        failed = true
        if (late?.aborted && !signal?.aborted) return
        throw error
      }
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: CONCURRENCY }, worker))
  for (const one of ended) if (one.status === 'rejected') throw one.reason
  const made = hashed.filter((one) => vectors.has(one.hash))
  const copies = inOneBuffer(made.map((one) => vectors.get(one.hash) as Float32Array)).values()
  return hashed.map((one) => (vectors.has(one.hash) ? copies.next().value : undefined))
}

async function knownVectors({ id, dimensions }: Embedder, cache: VectorCache, hashes: readonly string[]) {
  const known = new Map<string, Float32Array>()
  for (let at = 0; at < hashes.length; at += HASHES_PER_LOOKUP) {
    const found = await cache.knownVectors(id, hashes.slice(at, at + HASHES_PER_LOOKUP))
    // The provider may have changed the model's dimensions.
    for (const [hash, vector] of found) if (vector.length === dimensions) known.set(hash, vector)
  }
  return known
}

function inBatches(texts: readonly HashedText[], size: number): HashedText[][] {
  const batches: HashedText[][] = []
  let characters = 0
  for (const one of texts) {
    const batch = batches.at(-1)
    characters += one.text.length
    if (batch !== undefined && batch.length < size && characters <= BATCH_CHARACTERS) batch.push(one)
    else {
      batches.push([one])
      characters = one.text.length
    }
  }
  return batches
}

/** Copies vectors into one buffer: thousands of small buffers sent to the store's thread would fragment memory. */
export function inOneBuffer(vectors: readonly Float32Array[]): Float32Array[] {
  const all = new Float32Array(vectors.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  return vectors.map((vector) => {
    all.set(vector, at)
    at += vector.length
    return all.subarray(at - vector.length, at)
  })
}
