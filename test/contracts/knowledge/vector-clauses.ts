import assert from 'node:assert/strict'
import type { KnowledgeChunk, KnowledgeStore, MetadataFilter } from '../../../src/core/storage/knowledge-store.ts'
import {
  chunk,
  documentsOf,
  EMBEDDER,
  textsOf,
  unit,
  whole,
  withDocs,
} from '../../../src/storage/fixtures/given-knowledge.ts'
import type { KnowledgeClauses } from '../storage/contract-store.ts'
import { refuses } from '../storage/contract-store.ts'

const near = (knowledge: KnowledgeStore, vector: Float32Array, filter?: MetadataFilter) =>
  knowledge.byVector({ tenant: 'acme', collection: 'docs', most: 10, vector, ...(filter && { filter }) })

const one = (vector: Float32Array, text = 'stone'): readonly KnowledgeChunk[] => [chunk(0, text, { vector })]

const [EAST, NORTH, UP] = [unit(1, 0, 0, 0), unit(0, 1, 0, 0), unit(0, 0, 1, 0)]

/** What holds of a store that keeps vectors. */
export const vectorClauses: KnowledgeClauses = {
  'vectors: a collection keeps the embedder that it was opened with': async (store) => {
    const [first, other] = await store.openTwo()
    const opened = await first.knowledge.open('acme', 'docs', EMBEDDER)
    assert.deepEqual([opened.embedder, opened.dimensions], ['test:four', 4])
    const again = await other.knowledge.open('acme', 'docs', { id: 'another', dimensions: 8 })
    assert.deepEqual(again, opened)
    assert.deepEqual(await other.knowledge.open('acme', 'docs', null), opened)
  },

  'vectors: a collection without an embedder takes one on, and then its chunks wait for their vectors': async (
    store,
  ) => {
    const { knowledge } = await store.open()
    await knowledge.open('acme', 'docs', null)
    await refuses(knowledge.put(whole('a', [], { chunks: one(EAST) })))
    await knowledge.put(whole('a', ['stone', 'bread']))
    assert.equal((await knowledge.collection('acme', 'docs'))?.without_vector, 0)
    assert.deepEqual(await knowledge.withoutVector('acme', 'docs', 10), [])
    const { embedder, without_vector } = await knowledge.open('acme', 'docs', EMBEDDER)
    assert.deepEqual([embedder, without_vector], ['test:four', 2])
    assert.equal((await knowledge.withoutVector('acme', 'docs', 10)).length, 2)
  },

  'vectors: the nearest are found first, with their cosine': async (store) => {
    const [first, other] = await store.openTwo()
    const knowledge = await withDocs(first)
    await knowledge.put(whole('east', [], { chunks: one(EAST), metadata: { side: 'e' } }))
    await knowledge.put(whole('north', [], { chunks: one(NORTH) }))
    await knowledge.put(whole('north-east', [], { chunks: one(unit(1, 1, 0, 0)) }))
    await knowledge.put(whole('west', [], { chunks: one(unit(-1, 0, 0, 0)) }))
    const hits = await near(other.knowledge, unit(2, 1, 0, 0))
    assert.deepEqual(documentsOf(hits), ['north-east', 'east', 'north', 'west'])
    const cosines = [3 / Math.sqrt(10), 2 / Math.sqrt(5), 1 / Math.sqrt(5), -2 / Math.sqrt(5)]
    for (const [index, { score }] of hits.entries()) assert.ok(Math.abs(score - (cosines[index] as number)) < 1e-5)
    const { chunk_id: _, score: __, ...east } = hits[1] ?? {}
    const { vector: ___, ...kept } = one(EAST)[0] as KnowledgeChunk
    assert.deepEqual(east, { ...kept, document_id: 'east', source: 'east.md', metadata: { side: 'e' } })
    const two = await knowledge.byVector({ tenant: 'acme', collection: 'docs', most: 2, vector: unit(2, 1, 0, 0) })
    assert.deepEqual(two, hits.slice(0, 2))
  },

  'vectors: one of another dimension or another length is refused, and leaves nothing': async (store) => {
    const knowledge = await withDocs(await store.open())
    await knowledge.put(whole('a', ['bread']))
    const [{ chunk_id } = { chunk_id: '' }] = await knowledge.withoutVector('acme', 'docs', 10)
    const bad = [unit(1, 0, 0), unit(1, 0, 0, 0, 0), Float32Array.of(1, 1, 0, 0), Float32Array.of(0, 0, 0, Number.NaN)]
    for (const vector of bad) {
      const chunks = [chunk(0, 'stone', { vector: EAST }), chunk(1, 'stone', { vector })]
      await refuses(knowledge.put(whole('b', [], { chunks })))
      await refuses(near(knowledge, vector))
      await refuses(knowledge.setVectors('acme', 'docs', [{ chunk_id, vector }]))
    }
    await assert.rejects(knowledge.put(whole('b', [], { chunks: one(unit(1, 0, 0)) })), {
      message: 'Collection "docs" has vectors of 4 dimensions from "test:four", not of 3: use that embedder',
    })
    assert.deepEqual(await textsOf(knowledge, 'stone'), [])
    assert.equal((await knowledge.withoutVector('acme', 'docs', 10)).length, 1)
  },

  'vectors: chunks wait for theirs until it is set, and are found by their words meanwhile': async (store) => {
    const [first, other] = await store.openTwo()
    const knowledge = await withDocs(first)
    const chunks = [chunk(0, 'stone', { heading: 'A' }), chunk(1, 'bread', { vector: EAST }), chunk(2, 'salt')]
    await knowledge.put(whole('a', [], { chunks }))
    await knowledge.put(whole('b', ['never whole'], { parts: 2 }))
    const waiting = await other.knowledge.withoutVector('acme', 'docs', 10)
    assert.deepEqual(
      waiting.map(({ text, heading }) => [text, heading]),
      [
        ['stone', 'A'],
        ['salt', ''],
      ],
    )
    assert.equal((await knowledge.withoutVector('acme', 'docs', 1)).length, 1)
    assert.equal((await knowledge.collection('acme', 'docs'))?.without_vector, 2)
    assert.deepEqual(await textsOf(knowledge, 'stone'), ['stone'])
    assert.deepEqual(documentsOf(await near(knowledge, EAST)), ['a'])
    const [stone, salt] = waiting.map(({ chunk_id }) => chunk_id) as [string, string]
    await other.knowledge.setVectors('acme', 'docs', [{ chunk_id: stone, vector: NORTH }])
    assert.equal((await knowledge.collection('acme', 'docs'))?.without_vector, 1)
    assert.deepEqual((await near(knowledge, NORTH))[0]?.text, 'stone')
    assert.deepEqual(
      (await knowledge.withoutVector('acme', 'docs', 10)).map(({ chunk_id }) => chunk_id),
      [salt],
    )
  },

  'vectors: setVectors ignores chunks that have one, are removed or never existed': async (store) => {
    const knowledge = await withDocs(await store.open())
    await knowledge.put(whole('a', [], { chunks: one(EAST) }))
    const [{ chunk_id = '' } = {}] = await near(knowledge, EAST)
    await knowledge.put(whole('b', ['bread']))
    const [waiting] = await knowledge.withoutVector('acme', 'docs', 10)
    await knowledge.remove('acme', 'docs', 'b')
    const asked = [chunk_id, waiting?.chunk_id ?? '', '999999999', '0', '-1', '1.5', 'x', '', `${'9'.repeat(30)}`]
    await knowledge.setVectors(
      'acme',
      'docs',
      asked.map((id) => ({ chunk_id: id, vector: NORTH })),
    )
    await knowledge.setVectors('acme', 'docs', [])
    const hits = await near(knowledge, NORTH)
    assert.deepEqual(
      hits.map(({ document_id, score }) => [document_id, Math.abs(score) < 1e-6]),
      [['a', true]],
    )
    assert.equal((await knowledge.collection('acme', 'docs'))?.without_vector, 0)
  },

  'vectors: those of versions that are not whole, replaced or removed are not found': async (store) => {
    const knowledge = await withDocs(await store.open())
    const put = (id: string, version: string, vector: Float32Array, parts = 1) =>
      knowledge.put(whole(id, [], { version, parts, chunks: one(vector, `${id} ${version}`) }))
    await put('a', '1', EAST)
    await put('b', '1', EAST)
    await put('b', '2', NORTH, 2)
    await put('c', '1', UP, 2)
    const texts = async () => (await near(knowledge, EAST)).map(({ text }) => text).toSorted()
    assert.deepEqual(await texts(), ['a 1', 'b 1'])
    await put('a', '2', NORTH)
    assert.deepEqual(await texts(), ['a 2', 'b 1'])
    await knowledge.remove('acme', 'docs', 'b')
    assert.deepEqual(await texts(), ['a 2'])
    assert.equal((await knowledge.collection('acme', 'docs'))?.without_vector, 0)
    await knowledge.drop('acme', 'docs')
    assert.deepEqual(await texts(), [])
    await withDocs({ knowledge })
    assert.deepEqual(await texts(), [])
  },

  'vectors: vectors set while versions follow each other are counted right': async (store) => {
    const [first, other] = await store.openTwo()
    const knowledge = await withDocs(first)
    const fill = async (): Promise<void> => {
      const waiting = await other.knowledge.withoutVector('acme', 'docs', 100)
      const vectors = waiting.map(({ chunk_id }) => ({ chunk_id, vector: EAST }))
      await other.knowledge.setVectors('acme', 'docs', vectors)
    }
    await knowledge.put(whole('a', ['stone', 'bread'], { version: '0' }))
    for (let version = 1; version <= 10; version++) {
      await Promise.all([fill(), knowledge.put(whole('a', ['stone', 'bread'], { version: `${version}` })), fill()])
    }
    await fill()
    const { chunks, without_vector } = (await knowledge.collection('acme', 'docs')) ?? {}
    assert.deepEqual([chunks, without_vector], [2, 0])
    assert.equal((await near(knowledge, EAST)).length, 2)
  },

  'vectors: a filter selects documents with all its values': async (store) => {
    const knowledge = await withDocs(await store.open())
    const put = (id: string, vector: Float32Array, metadata: Record<string, string>) =>
      knowledge.put(whole(id, [], { chunks: one(vector), metadata }))
    await put('near', EAST, { language: 'de' })
    await put('far', NORTH, { language: 'en', kind: 'guide' })
    await put('further', unit(-1, 0, 0, 0), { language: 'en' })
    await knowledge.put(whole('hidden', [], { parts: 2, chunks: one(EAST), metadata: { language: 'en' } }))
    assert.deepEqual(documentsOf(await near(knowledge, EAST, { language: 'en' })), ['far', 'further'])
    assert.deepEqual(documentsOf(await near(knowledge, EAST, { language: 'en', kind: 'guide' })), ['far'])
    assert.deepEqual(documentsOf(await near(knowledge, EAST, { language: 'fr' })), [])
    assert.equal((await near(knowledge, EAST, {})).length, 3)
  },

  'vectors: those of one collection are not found in another, which may have others': async (store) => {
    const knowledge = await withDocs(await store.open())
    await knowledge.open('acme', 'other', { id: 'test:two', dimensions: 2 })
    await knowledge.put(whole('a', [], { chunks: one(EAST) }))
    await knowledge.put(whole('b', [], { collection: 'other', chunks: one(unit(1, 0)) }))
    assert.deepEqual(documentsOf(await near(knowledge, EAST)), ['a'])
    const query = { tenant: 'acme', collection: 'other', most: 5, vector: unit(1, 0) }
    assert.deepEqual(documentsOf(await knowledge.byVector(query)), ['b'])
  },
}
