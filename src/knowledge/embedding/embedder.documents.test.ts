import { describe, expect, test } from 'vitest'
import { type Embedder, type EmbeddingProgress, embedDocuments, inOneBuffer, type VectorCache } from './embedder.ts'

/** Records lookups. */
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

/** Returns the length of a text as its vector; `before` delays or fails a batch. */
class CountingEmbedder implements Embedder {
  readonly id: string
  readonly dimensions: number = 1
  readonly batch: number = 2
  readonly asked: string[][] = []
  running = 0
  most = 0
  before: (texts: readonly string[], signal?: AbortSignal) => Promise<void> = async () => {}

  constructor(id = 'test:lengths') {
    this.id = id
  }

  async embed(texts: readonly string[], _purpose: string, signal?: AbortSignal) {
    this.asked.push([...texts])
    this.most = Math.max(this.most, ++this.running)
    try {
      await this.before(texts, signal)
      return texts.map(({ length }) => Float32Array.of(length))
    } finally {
      this.running--
    }
  }

  async close() {}
}

const open = (cache = new MemoryCache(), embedder = new CountingEmbedder()) => ({
  cache,
  embedder,
  embed: (texts: readonly string[], signal?: AbortSignal, onProgress?: EmbeddingProgress, tenant = 'acme') =>
    embedDocuments(embedder, cache, tenant, texts, signal, onProgress) as Promise<Float32Array[]>,
})
const firsts = (vectors: readonly Float32Array[]) => vectors.map(([first]) => first)
const numbered = (count: number) => Array.from({ length: count }, (_, index) => 'x'.repeat(index + 1))

describe('embedDocuments', () => {
  test('never uses the vectors of another tenant', async () => {
    const { embed, embedder } = open()
    await embed(['secret'])
    await embed(['secret'])
    expect(embedder.asked).toEqual([['secret']])
    await embed(['secret'], undefined, undefined, 'globex')
    expect(embedder.asked).toEqual([['secret'], ['secret']])
  })

  test('returns vectors in the order of the texts, in batches, and embeds each text once', async () => {
    const { embed, embedder, cache } = open()
    expect(firsts(await embed(['a', 'bb', 'a', 'ccc', 'bb']))).toEqual([1, 2, 1, 3, 2])
    expect(embedder.asked).toEqual([['a', 'bb'], ['ccc']])
    expect(firsts(await embed(['ccc', 'dddd']))).toEqual([3, 4])
    expect(embedder.asked.slice(2)).toEqual([['dddd']])
    expect(cache.vectors.size).toBe(4)
  })

  test('ignores vectors of another model or with other dimensions', async () => {
    const { embed, cache } = open()
    await embed(['a'])
    const other = open(cache, new CountingEmbedder('test:others'))
    await other.embed(['a'])
    expect(other.embedder.asked).toEqual([['a']])
    for (const key of cache.vectors.keys()) cache.vectors.set(key, Float32Array.of(9, 9))
    expect(firsts(await embed(['a']))).toEqual([1])
  })

  test('sends at most four requests at a time, and looks up hashes in parts', async () => {
    const { embed, embedder, cache } = open()
    embedder.before = () => new Promise((resolve) => setImmediate(resolve))
    expect(firsts(await embed(numbered(501)))).toEqual(numbered(501).map(({ length }) => length))
    expect([embedder.most, cache.lookups]).toEqual([4, [500, 1]])
  })

  test('sends long texts in smaller batches', async () => {
    const { embed, embedder } = open()
    await embed(['a'.repeat(150_000), 'b'.repeat(150_000), 'c', 'd'.repeat(300_000)])
    expect(embedder.asked.map((batch) => batch.map(([letter]) => letter))).toEqual([['a'], ['b', 'c'], ['d']])
  })

  test('reports progress, including known and repeated texts', async () => {
    const { embed, embedder } = open()
    await embed(['a'])
    embedder.before = () => new Promise((resolve) => setImmediate(resolve))
    const told: string[] = []
    const onProgress = (done: number, total: number) => told.push(`${done}/${total}`)
    await embed(['a', 'bb', 'a', 'ccc', 'bb', 'dddd'], undefined, onProgress)
    expect(told).toEqual(['2/6', '5/6', '6/6'])
  })

  test('stores vectors that arrived before a failure, and sends no more requests', async () => {
    const { embed, embedder, cache } = open()
    const failure = new Error('the provider is gone')
    embedder.before = async ([first]) => {
      if (first === 'x') throw failure
      await new Promise((resolve) => setImmediate(resolve))
    }
    await expect(embed(numbered(20))).rejects.toBe(failure)
    // Three of four requests succeeded.
    expect([embedder.asked.length, cache.vectors.size]).toEqual([4, 6])
    embedder.asked.length = 0
    embedder.before = async () => {}
    await embed(numbered(20))
    expect(embedder.asked.flat().length).toBe(14)
  })

  test('rejects with the reason of an abort, and stores vectors that have arrived', async () => {
    const { embed, embedder, cache } = open()
    const controller = new AbortController()
    const reason = new Error('enough')
    embedder.before = ([first], signal) =>
      first === 'x'
        ? Promise.resolve()
        : new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const embedding = embed(numbered(20), controller.signal, (done) => {
      if (done > 0) controller.abort(reason)
    })
    await expect(embedding).rejects.toBe(reason)
    expect(cache.vectors.size).toBe(2)
    await expect(embed(['a'], controller.signal)).rejects.toBe(reason)
  })

  test('rejects if the cache fails', async () => {
    const { embed, cache } = open()
    cache.keepVectors = () => Promise.reject(new Error('the disk is full'))
    await expect(embed(['a'])).rejects.toThrow('the disk is full')
  })

  test('rejects an empty text before the first request', async () => {
    const { embed, embedder } = open()
    await expect(embed(['a', 'b', 'c', ''])).rejects.toThrow('Text 4 of 4 is empty')
    expect(embedder.asked).toEqual([])
  })
})

describe('inOneBuffer', () => {
  test('copies vectors into one buffer', () => {
    const vectors = [Float32Array.of(1, 2), Float32Array.of(3), Float32Array.of(4, 5, 6)]
    const together = inOneBuffer(vectors)
    expect(together).toEqual(vectors)
    const sent = structuredClone(together)
    expect(sent).toEqual(vectors)
    expect(new Set(sent.map(({ buffer }) => buffer)).size).toBe(1)
    expect(sent[0]?.buffer.byteLength).toBe(24)
  })

  test('accepts an empty list', () => {
    expect(inOneBuffer([])).toEqual([])
  })
})
