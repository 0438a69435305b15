import assert from 'node:assert/strict'
import { chunk, documentsOf, unit, whole } from '../../../src/storage/fixtures/given-knowledge.ts'
import type { KnowledgeClauses } from '../storage/contract-store.ts'

/** With this many numbers in all, no store compares the vectors one by one. */
const CHUNKS = 10_000
const DIMENSIONS = 960
const PART = 100
const WANTED = 5

/** Numbers that look random and are the same every time. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state / 2_147_483_648
  }
}

/** Applies when there are too many vectors to compare all of them. */
export const manyVectorClauses: KnowledgeClauses = {
  'many vectors: the nearest are found, and all that a filter leaves, be they few or far': async (store) => {
    const { knowledge } = await store.open()
    const vectorOf = (next: () => number): Float32Array => unit(...Array.from({ length: DIMENSIONS }, next))
    await knowledge.open('acme', 'docs', { id: 'test:many', dimensions: DIMENSIONS })
    const next = numbers(7)
    const target = vectorOf(next)
    const put = async (id: string, count: number, rare: boolean, parts = 1): Promise<void> => {
      const texts = Array.from({ length: count }, (_, index) => chunk(index, 'stone', { vector: vectorOf(next) }))
      await knowledge.put(whole(id, [], { chunks: texts, parts, metadata: { rare: `${rare}` } }))
    }
    for (let at = 0; at < CHUNKS; at += PART) await put(`d${at}`, PART, false)
    for (let index = 0; index < WANTED; index++) await put(`rare ${index}`, 1, true)
    // Near, nearer, nearest; and as near, but not to be found.
    for (const part of [0.5, 0.7, 0.9]) {
      const vector = unit(...target.map((value, index) => value * part + (index === 0 ? 1 - part : 0)))
      await knowledge.put(whole(`near ${part}`, [], { chunks: [chunk(0, 'stone', { vector })] }))
    }
    await knowledge.put(whole('hidden', [], { parts: 2, chunks: [chunk(0, 'stone', { vector: target })] }))
    const query = { tenant: 'acme', collection: 'docs', vector: target }
    const hits = await knowledge.byVector({ ...query, most: 3 })
    assert.deepEqual(documentsOf(hits), ['near 0.9', 'near 0.7', 'near 0.5'])
    assert.ok(hits[0] !== undefined && hits[0].score > 0.9 && hits[0].score < 1)
    const rare = Array.from({ length: WANTED }, (_, index) => `rare ${index}`)
    for (const most of [10, WANTED]) {
      const filtered = await knowledge.byVector({ ...query, most, filter: { rare: 'true' } })
      assert.deepEqual(documentsOf(filtered).toSorted(), rare)
      const found = await knowledge.byText({ ...query, text: 'stone', most, filter: { rare: 'true' } })
      assert.deepEqual(documentsOf(found).toSorted(), rare)
    }
    assert.equal((await knowledge.byVector({ ...query, most: 50, filter: { rare: 'false' } })).length, 50)
    assert.equal((await knowledge.byVector({ ...query, most: 1_000 })).length, 1_000)
  },
}
