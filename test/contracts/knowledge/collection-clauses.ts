import assert from 'node:assert/strict'
import { textsOf, whole, withDocs } from '../../../src/storage/fixtures/given-knowledge.ts'
import type { KnowledgeClauses } from '../storage/contract-store.ts'
import { NUL, refuses, UNICODE } from '../storage/contract-store.ts'

const EMPTY = { tenant: 'acme', embedder: null, dimensions: null, documents: 0, chunks: 0, without_vector: 0 }

export const collectionClauses: KnowledgeClauses = {
  'collections: one is made when it is opened, and is the same for everybody': async (store) => {
    const [one, other] = await store.openTwo()
    assert.equal(await one.knowledge.collection('acme', 'docs'), undefined)
    assert.deepEqual(await one.knowledge.open('acme', 'docs', null), { ...EMPTY, name: 'docs' })
    assert.deepEqual(await other.knowledge.open('acme', 'docs', null), { ...EMPTY, name: 'docs' })
    assert.deepEqual(await other.knowledge.collection('acme', 'docs'), { ...EMPTY, name: 'docs' })
    assert.deepEqual(await other.knowledge.collections('acme'), [{ ...EMPTY, name: 'docs' }])
  },

  'collections: they are listed by name': async (store) => {
    const { knowledge } = await store.open()
    for (const name of ['b', UNICODE, 'a', 'B']) await knowledge.open('acme', name, null)
    const names = (await knowledge.collections('acme')).map(({ name }) => name)
    assert.deepEqual(names, ['B', 'a', 'b', UNICODE])
  },

  'collections: concurrent opens get the same collection': async (store) => {
    const both = await store.openTwo()
    const opened = Array.from({ length: 10 }, (_, index) => both[index % 2 === 0 ? 0 : 1])
    await Promise.all(opened.map(({ knowledge }) => knowledge.open('acme', 'docs', null)))
    assert.equal((await both[0].knowledge.collections('acme')).length, 1)
    await both[0].knowledge.put(whole('a', ['stone']))
    assert.deepEqual(await textsOf(both[1].knowledge, 'stone'), ['stone'])
  },

  'collections: documents and chunks are counted as they come and go': async (store) => {
    const knowledge = await withDocs(await store.open())
    const counted = async () => {
      const { documents, chunks } = (await knowledge.collection('acme', 'docs')) ?? {}
      return [documents, chunks]
    }
    await knowledge.put(whole('a', ['one', 'two']))
    await knowledge.put(whole('b', ['three']))
    await knowledge.put(whole('c', ['four'], { parts: 2 }))
    assert.deepEqual(await counted(), [2, 3])
    await knowledge.put(whole('a', ['one', 'two', 'three', 'four'], { version: '2' }))
    assert.deepEqual(await counted(), [2, 5])
    await knowledge.remove('acme', 'docs', 'b')
    assert.deepEqual(await counted(), [1, 4])
    await knowledge.put(whole('a', [], { version: '3' }))
    assert.deepEqual(await counted(), [1, 0])
  },

  'collections: dropping removes the collection with its documents, and frees its name': async (store) => {
    const [one, other] = await store.openTwo()
    const knowledge = await withDocs(one)
    await knowledge.put(whole('a', ['stone'], { metadata: { colour: 'grey' } }))
    assert.equal(await knowledge.drop('acme', 'docs'), true)
    assert.equal(await knowledge.drop('acme', 'docs'), false)
    assert.equal(await other.knowledge.collection('acme', 'docs'), undefined)
    assert.deepEqual(await other.knowledge.collections('acme'), [])
    assert.deepEqual(await textsOf(other.knowledge, 'stone'), [])
    assert.equal(await other.knowledge.document('acme', 'docs', 'a'), undefined)
    assert.equal(await other.knowledge.remove('acme', 'docs', 'a'), false)
    await refuses(other.knowledge.put(whole('b', ['stone'])))
    assert.deepEqual(await knowledge.open('acme', 'docs', null), { ...EMPTY, name: 'docs' })
    assert.deepEqual(await textsOf(knowledge, 'stone'), [])
    await knowledge.put(whole('a', ['stone again']))
    assert.deepEqual(await textsOf(other.knowledge, 'stone'), ['stone again'])
  },

  'collections: names that are empty, too long or hold NUL are refused': async (store) => {
    const { knowledge } = await store.open()
    for (const name of ['', NUL, 'x'.repeat(256)]) {
      await refuses(knowledge.open('acme', name, null))
      await refuses(knowledge.open(name, 'docs', null))
      await refuses(knowledge.open('acme', 'docs', { id: name, dimensions: 4 }))
    }
    for (const dimensions of [0, -1, 1.5, 8_193, Number.NaN]) {
      await refuses(knowledge.open('acme', 'docs', { id: 'test:some', dimensions }))
    }
    await refuses(knowledge.collection('acme', NUL))
    await refuses(knowledge.collections(NUL))
    assert.deepEqual(await knowledge.collections('acme'), [])
  },

  'collections: a missing collection has no hits and accepts no documents': async (store) => {
    const { knowledge } = await store.open()
    await refuses(knowledge.put(whole('a', ['stone'])))
    await refuses(knowledge.setVectors('acme', 'docs', []))
    assert.deepEqual(await textsOf(knowledge, 'stone'), [])
    assert.deepEqual(await knowledge.withoutVector('acme', 'docs', 10), [])
    assert.equal(await knowledge.document('acme', 'docs', 'a'), undefined)
  },
}
