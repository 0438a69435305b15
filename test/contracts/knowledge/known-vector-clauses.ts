import assert from 'node:assert/strict'
import { unit } from '../../../src/storage/fixtures/given-knowledge.ts'
import type { KnowledgeClauses } from '../storage/contract-store.ts'
import { NUL, refuses, UNICODE } from '../storage/contract-store.ts'

export const knownVectorClauses: KnowledgeClauses = {
  'known vectors: each is stored by its embedder and hash': async (store) => {
    const [one, other] = await store.openTwo()
    const [first, second] = [unit(1, 2, 3, 4), unit(-1, 0.5, 0, 0)]
    await one.knowledge.keepVectors('m', [
      { hash: 'a', vector: first },
      { hash: UNICODE, vector: second },
    ])
    const known = await other.knowledge.knownVectors('m', ['a', 'b', UNICODE])
    assert.deepEqual([...known.keys()].toSorted(), [UNICODE, 'a'].toSorted())
    assert.deepEqual(known.get('a'), first)
    assert.deepEqual(known.get(UNICODE), second)
    assert.equal((await other.knowledge.knownVectors('another', ['a'])).size, 0)
    assert.equal((await other.knowledge.knownVectors('m', [])).size, 0)
  },

  'known vectors: a view of a larger buffer is stored as the view only': async (store) => {
    const { knowledge } = await store.open()
    const large = new Float32Array(1_000)
    large.set(unit(1, 2), 500)
    await knowledge.keepVectors('m', [{ hash: 'a', vector: large.subarray(500, 502) }])
    assert.deepEqual((await knowledge.knownVectors('m', ['a'])).get('a'), unit(1, 2))
  },

  'known vectors: storing one again replaces it': async (store) => {
    const { knowledge } = await store.open()
    await knowledge.keepVectors('m', [{ hash: 'a', vector: unit(1, 2) }])
    await knowledge.keepVectors('m', [
      { hash: 'a', vector: unit(1, 1) },
      { hash: 'a', vector: unit(1, 2, 3) },
    ])
    assert.deepEqual((await knowledge.knownVectors('m', ['a'])).get('a'), unit(1, 2, 3))
    await knowledge.keepVectors('m', [])
  },

  'known vectors: a vector that is not of length 1 is rejected with its whole batch': async (store) => {
    const { knowledge } = await store.open()
    const good = { hash: 'good', vector: unit(1, 2) }
    const bad = [[1, 1], [0, 0], [Number.NaN, 0], [Number.POSITIVE_INFINITY, 0], []]
    for (const numbers of bad) {
      await refuses(knowledge.keepVectors('m', [good, { hash: 'a', vector: Float32Array.from(numbers) }]))
    }
    await refuses(knowledge.keepVectors('m', [good, { hash: 'a', vector: [1, 0] as unknown as Float32Array }]))
    for (const name of ['', NUL, 'x'.repeat(256)]) {
      await refuses(knowledge.keepVectors('m', [good, { ...good, hash: name }]))
      await refuses(knowledge.keepVectors(name, [good]))
    }
    assert.equal((await knowledge.knownVectors('m', ['good'])).size, 0)
  },
}
