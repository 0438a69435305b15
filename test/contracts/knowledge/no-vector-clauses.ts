import assert from 'node:assert/strict'
import { chunk, EMBEDDER, textsOf, unit, whole } from '../../../src/storage/fixtures/given-knowledge.ts'
import type { KnowledgeClauses } from '../storage/contract-store.ts'
import { refuses } from '../storage/contract-store.ts'

/** What holds of a store that keeps no vectors. */
export const noVectorClauses: KnowledgeClauses = {
  'without vectors: no collection has an embedder, and nothing waits for one': async (store) => {
    const { knowledge } = await store.open()
    const { embedder, dimensions } = await knowledge.open('acme', 'docs', EMBEDDER)
    assert.deepEqual([embedder, dimensions], [null, null])
    await knowledge.put(whole('a', ['stone']))
    assert.equal((await knowledge.collection('acme', 'docs'))?.without_vector, 0)
    assert.deepEqual(await knowledge.withoutVector('acme', 'docs', 10), [])
    assert.deepEqual(await textsOf(knowledge, 'stone'), ['stone'])
  },

  'without vectors: none is taken, and by one nothing is found': async (store) => {
    const { knowledge } = await store.open()
    await knowledge.open('acme', 'docs', EMBEDDER)
    const vector = unit(1, 0, 0, 0)
    await refuses(knowledge.put(whole('a', [], { chunks: [chunk(0, 'stone', { vector })] })))
    await refuses(knowledge.setVectors('acme', 'docs', [{ chunk_id: '1', vector }]))
    assert.deepEqual(await knowledge.byVector({ tenant: 'acme', collection: 'docs', most: 5, vector }), [])
    assert.deepEqual(await textsOf(knowledge, 'stone'), [])
  },
}
