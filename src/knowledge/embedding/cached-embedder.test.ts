import { describe, expect, test } from 'vitest'
import { CachedEmbedder, type VectorCache } from './cached-embedder.ts'
import type { Embedder, EmbeddingPurpose } from './embedder.ts'

/** A cache in memory that writes down what it is asked. */
class MemoryCache implements VectorCache {
  readonly vectors = new Map<string, Float32Array>()
  readonly lookups: number[] = []

  async knownVectors(embedder: string, hashes: readonly string[]) {
    this.lookups.push(hashes.length)
    const found = hashes.flatMap((hash): [string, Float32Array][] => {
      const vector = this.vectors.get(`${embedder} ${hash}`)
      return vector === undefined ? [] : [[hash, vector]]
    })
    return new Map(found)
  }

  async keepVectors(embedder: string, vectors: readonly { hash: string; vector: Float32Array }[]) {
    for (const { hash, vector } of vectors) this.vectors.set(`${embedder} ${hash}`, vector)
  }
}

/** Gives a vector of the text's length; the test may hold batches back or make them fail. */
class CountingEmbedder implements Embedder {
  readonly id: string
  readonly dimensions: number = 1
  readonly batch: number = 2
  readonly asked: string[][] = []
  running = 0
  most = 0
  closed = false
  before: (texts: readonly string[], signal?: AbortSignal) => Promise<void> = async () => {}

  constructor(id = 'test:lengths') {
    this.id = id
  }

  async embed(texts: readonly string[], _purpose: EmbeddingPurpose, signal?: AbortSignal) {
    this.asked.push([...texts])
    this.most = Math.max(this.most, ++this.running)
    try {
      await this.before(texts, signal)
      return texts.map(({ length }) => Float32Array.of(length))
    } finally {
      this.running--
    }
  }

  async close() {
    this.closed = true
  }
}

const open = (cache = new MemoryCache(), embedder = new CountingEmbedder()) => ({
  cache,
  embedder,
  cached: new CachedEmbedder(embedder, cache),
})
const firsts = (vectors: readonly Float32Array[]) => vectors.map(([first]) => first)
const numbered = (count: number) => Array.from({ length: count }, (_, index) => 'x'.repeat(index + 1))

describe('embedding with a cache', () => {
  test('gives vectors in the order of the texts, in batches, and each text is embedded once', async () => {
    const { cached, embedder, cache } = open()
    expect(firsts(await cached.embed(['a', 'bb', 'a', 'ccc', 'bb'], 'document'))).toEqual([1, 2, 1, 3, 2])
    expect(embedder.asked).toEqual([['a', 'bb'], ['ccc']])
    expect(firsts(await cached.embed(['ccc', 'dddd'], 'document'))).toEqual([3, 4])
    expect(embedder.asked.slice(2)).toEqual([['dddd']])
    expect(cache.vectors.size).toBe(4)
  })

  test('is what the embedder is', async () => {
    const { cached, embedder } = open()
    expect([cached.id, cached.dimensions, cached.batch]).toEqual(['test:lengths', 1, 2])
    await cached.close()
    expect(embedder.closed).toBe(true)
  })

  test('vectors of another model are not taken, nor those of another size under the same name', async () => {
    const { cached, cache } = open()
    await cached.embed(['a'], 'document')
    const other = open(cache, new CountingEmbedder('test:others'))
    await other.cached.embed(['a'], 'document')
    expect(other.embedder.asked).toEqual([['a']])
    for (const key of cache.vectors.keys()) cache.vectors.set(key, Float32Array.of(9, 9))
    expect(firsts(await cached.embed(['a'], 'document'))).toEqual([1])
  })

  test('questions are neither kept nor looked up', async () => {
    const { cached, embedder, cache } = open()
    await cached.embed(['a'], 'query')
    await cached.embed(['a'], 'query')
    expect([embedder.asked.length, cache.vectors.size, cache.lookups]).toEqual([2, 0, []])
  })

  test('at most four requests are on their way at a time, and many hashes are looked up in parts', async () => {
    const { cached, embedder, cache } = open()
    embedder.before = () => new Promise((resolve) => setImmediate(resolve))
    expect(firsts(await cached.embed(numbered(501), 'document'))).toEqual(numbered(501).map(({ length }) => length))
    expect([embedder.most, cache.lookups]).toEqual([4, [500, 1]])
  })

  test('long texts go in smaller batches', async () => {
    const { cached, embedder } = open()
    await cached.embed(['a'.repeat(150_000), 'b'.repeat(150_000), 'c', 'd'.repeat(300_000)], 'document')
    expect(embedder.asked.map((batch) => batch.map(([letter]) => letter))).toEqual([['a'], ['b', 'c'], ['d']])
  })

  test('says how far it is, counting what was known and what comes twice', async () => {
    const { cached, embedder } = open()
    await cached.embed(['a'], 'document')
    embedder.before = () => new Promise((resolve) => setImmediate(resolve))
    const told: string[] = []
    const onProgress = (done: number, total: number) => told.push(`${done}/${total}`)
    await cached.embed(['a', 'bb', 'a', 'ccc', 'bb', 'dddd'], 'document', undefined, onProgress)
    expect(told).toEqual(['2/6', '5/6', '6/6'])
  })

  test('what was embedded before a failure is kept, and no more is asked for', async () => {
    const { cached, embedder, cache } = open()
    const failure = new Error('the provider is gone')
    embedder.before = async ([first]) => {
      if (first === 'x') throw failure
      await new Promise((resolve) => setImmediate(resolve))
    }
    await expect(cached.embed(numbered(20), 'document')).rejects.toBe(failure)
    // Four batches were on their way; three of them came.
    expect([embedder.asked.length, cache.vectors.size]).toEqual([4, 6])
    embedder.asked.length = 0
    embedder.before = async () => {}
    await cached.embed(numbered(20), 'document')
    expect(embedder.asked.flat().length).toBe(14)
  })

  test('an abort ends it with its reason, and what had come is kept', async () => {
    const { cached, embedder, cache } = open()
    const controller = new AbortController()
    const reason = new Error('enough')
    embedder.before = ([first], signal) =>
      first === 'x'
        ? Promise.resolve()
        : new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const embedding = cached.embed(numbered(20), 'document', controller.signal, (done) => {
      if (done > 0) controller.abort(reason)
    })
    await expect(embedding).rejects.toBe(reason)
    expect(cache.vectors.size).toBe(2)
    await expect(cached.embed(['a'], 'document', controller.signal)).rejects.toBe(reason)
  })

  test('a cache that fails is not hidden', async () => {
    const { cached, cache } = open()
    cache.keepVectors = () => Promise.reject(new Error('the disk is full'))
    await expect(cached.embed(['a'], 'document')).rejects.toThrow('the disk is full')
  })

  test('an empty text is refused before anything is asked for', async () => {
    const { cached, embedder } = open()
    await expect(cached.embed(['a', 'b', 'c', ''], 'document')).rejects.toThrow('Text 4 of 4 is empty')
    expect(embedder.asked).toEqual([])
  })
})
