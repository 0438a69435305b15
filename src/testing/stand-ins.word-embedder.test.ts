import { expect, test } from 'vitest'
import { wordEmbedder } from './stand-ins.ts'

const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * (b[at] as number), 0)

test('texts that share words or synonyms are closer than others', async () => {
  const embedder = wordEmbedder({ dimensions: 256, synonyms: [['car', 'automobile']] })
  const texts = ['a red car', 'a red automobile', 'a red stone', 'deep water']
  const [car, automobile, stone, water] = (await embedder.embed(texts, 'document')) as [
    Float32Array,
    Float32Array,
    Float32Array,
    Float32Array,
  ]
  expect(cosine(car, automobile)).toBeCloseTo(1)
  expect(cosine(car, stone)).toBeGreaterThan(cosine(car, water) + 0.3)
  expect(await embedder.embed(texts, 'query')).toEqual([car, automobile, stone, water])
  expect(embedder.requests).toEqual([texts, texts])
})

test('all vectors have length 1 and the requested dimensions', async () => {
  const [none, some] = await wordEmbedder({ dimensions: 8 }).embed(['?!', 'stone'], 'document')
  for (const vector of [none, some] as Float32Array[]) {
    expect(vector).toHaveLength(8)
    expect(Math.hypot(...vector)).toBeCloseTo(1)
  }
})

test('fails as told, stops on abort, and knows that it was closed', async () => {
  const failing = wordEmbedder({ before: () => Promise.reject(new Error('down')) })
  await expect(failing.embed(['a'], 'document')).rejects.toThrow('down')
  const embedder = wordEmbedder()
  await expect(embedder.embed(['a'], 'document', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
  expect(embedder.closed).toBe(false)
  await embedder.close()
  expect(embedder.closed).toBe(true)
})
