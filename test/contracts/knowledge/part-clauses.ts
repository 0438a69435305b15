import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { chunk, textsOf, third, whole, withDocs } from '../../../src/storage/fixtures/given-knowledge.ts'
import type { KnowledgeClauses } from '../storage/contract-store.ts'

const six = (version: string): string[] => Array(6).fill(`stone a version${version}`)

export const partClauses: KnowledgeClauses = {
  'parts: nothing is found before the last is in, in whatever order they come': async (store) => {
    const [one, other] = await store.openTwo()
    const knowledge = await withDocs(one)
    assert.deepEqual(await knowledge.put(third('a', '1', 2)), { complete: false, chunks: 2 })
    assert.deepEqual(await other.knowledge.put(third('a', '1', 0)), { complete: false, chunks: 4 })
    assert.deepEqual(await textsOf(knowledge, 'stone'), [])
    assert.equal(await knowledge.document('acme', 'docs', 'a'), undefined)
    assert.deepEqual(await knowledge.put(third('a', '1', 1)), { complete: true, chunks: 6 })
    assert.deepEqual(await textsOf(other.knowledge, 'stone'), six('1'))
  },

  'parts: the version before stays until the new one is whole': async (store) => {
    const knowledge = await withDocs(await store.open())
    for (const part of [0, 1, 2]) await knowledge.put(third('a', '1', part))
    for (const part of [1, 0]) {
      assert.equal((await knowledge.put(third('a', '2', part))).complete, false)
      assert.deepEqual(await textsOf(knowledge, 'stone'), six('1'))
      assert.deepEqual(await knowledge.document('acme', 'docs', 'a'), { version: '1', chunks: 6 })
    }
    await knowledge.put(third('a', '2', 2))
    assert.deepEqual(await textsOf(knowledge, 'stone'), six('2'))
    assert.deepEqual(await knowledge.document('acme', 'docs', 'a'), { version: '2', chunks: 6 })
  },

  'parts: one that comes again changes nothing': async (store) => {
    const knowledge = await withDocs(await store.open())
    const other = whole('a', [], { parts: 3, chunks: [chunk(0, 'something else')] })
    await knowledge.put(third('a', '1', 0))
    for (const again of [third('a', '1', 0), other]) {
      assert.deepEqual(await knowledge.put(again), { complete: false, chunks: 2 })
    }
    await knowledge.put(third('a', '1', 1))
    await knowledge.put(third('a', '1', 2))
    assert.deepEqual(await textsOf(knowledge, 'stone something'), six('1'))
  },

  'parts: those of a version that is to have another number of them are no part of it': async (store) => {
    const knowledge = await withDocs(await store.open())
    await knowledge.put(third('a', '1', 0))
    await knowledge.put(third('a', '1', 1))
    const two = (part: number) => ({ ...third('a', '1', part), parts: 2 })
    assert.deepEqual(await knowledge.put(two(0)), { complete: false, chunks: 2 })
    assert.deepEqual(await knowledge.put(two(1)), { complete: true, chunks: 4 })
    assert.equal((await textsOf(knowledge, 'stone')).length, 4)
  },

  'parts: the version that was begun last is known until it or a later one is whole': async (store) => {
    const [one, other] = await store.openTwo()
    const knowledge = await withDocs(one)
    const staged = (prefix = 'own ') => other.knowledge.staged('acme', 'docs', 'a', prefix)
    assert.equal(await staged(), undefined)
    for (const version of ['own 1', 'own 2', 'other']) await knowledge.put(third('a', version, 0))
    assert.deepEqual(await staged(), { version: 'own 2', parts: 3 })
    assert.deepEqual(await staged('other'), { version: 'other', parts: 3 })
    assert.equal(await other.knowledge.staged('other', 'docs', 'a', 'own '), undefined)
    assert.equal(await other.knowledge.staged('acme', 'docs', 'b', 'own '), undefined)
    for (const part of [1, 2]) await knowledge.put(third('a', 'own 2', part))
    assert.equal(await staged(), undefined)
    await knowledge.put(third('a', 'own 3', 2))
    assert.deepEqual(await staged(), { version: 'own 3', parts: 3 })
    await knowledge.sweep(Date.now() + 60_000)
    assert.equal(await staged(), undefined)
  },

  'parts: each has its own source and metadata': async (store) => {
    const knowledge = await withDocs(await store.open())
    for (const part of [0, 1, 2]) {
      await knowledge.put({ ...third('a', '1', part), source: `page ${part}`, metadata: { page: `${part}` } })
    }
    const query = { tenant: 'acme', collection: 'docs', most: 10, text: 'stone', filter: { page: '1' } }
    const hits = await knowledge.byText(query)
    assert.deepEqual(hits.map(({ position, source }) => [position, source]).toSorted(), [
      [2, 'page 1'],
      [3, 'page 1'],
    ])
  },

  'parts: of two versions that come at the same time the last to be whole stays': async (store) => {
    const [one, other] = await store.openTwo()
    const knowledge = await withDocs(one)
    await knowledge.put(third('a', '1', 0))
    await other.knowledge.put(third('a', '2', 0))
    await other.knowledge.put(third('a', '2', 1))
    await knowledge.put(third('a', '1', 1))
    assert.equal((await other.knowledge.put(third('a', '2', 2))).complete, true)
    assert.deepEqual(await textsOf(knowledge, 'stone'), six('2'))
    assert.equal((await knowledge.put(third('a', '1', 2))).complete, true)
    assert.deepEqual(await textsOf(knowledge, 'stone'), six('1'))
    assert.equal((await knowledge.collection('acme', 'docs'))?.chunks, 6)
  },

  'parts: concurrent writers of one document never mix': async (store) => {
    const both = await store.openTwo()
    const knowledge = await withDocs(both[0])
    const versions = Array.from({ length: 8 }, (_, index) => `${index}`)
    const parts = versions.flatMap((version) => [0, 1, 2, 1].map((part) => third('a', version, part)))
    const shuffled = parts.toSorted((a, b) => hashOf(a.version, a.part) - hashOf(b.version, b.part))
    const done = await Promise.all(
      shuffled.map((part, index) => (both[index % 2] as (typeof both)[0]).knowledge.put(part)),
    )
    assert.ok(done.filter(({ complete }) => complete).length >= versions.length)
    const { version = '' } = (await knowledge.document('acme', 'docs', 'a')) ?? {}
    assert.deepEqual(await textsOf(both[1].knowledge, 'stone'), six(version))
    const { documents, chunks } = (await knowledge.collection('acme', 'docs')) ?? {}
    assert.deepEqual([documents, chunks], [1, 6])
  },

  'parts: readers always see one complete version': async (store) => {
    const [one, other] = await store.openTwo()
    const knowledge = await withDocs(one)
    for (const part of [0, 1, 2]) await knowledge.put(third('a', '0', part))
    let writing = true
    const write = async (): Promise<void> => {
      for (let version = 1; version <= 15; version++) {
        for (const part of [0, 1, 2]) await knowledge.put(third('a', `${version}`, part))
      }
      writing = false
    }
    const look = async (): Promise<void> => {
      while (writing) {
        const texts = await textsOf(other.knowledge, 'stone')
        assert.equal(texts.length, 6)
        assert.equal(new Set(texts).size, 1)
        await turn()
      }
    }
    const looking = look()
    await write()
    await looking
    assert.deepEqual(await textsOf(other.knowledge, 'stone'), six('15'))
  },

  'parts: those of versions that were never whole are swept': async (store) => {
    const knowledge = await withDocs(await store.open())
    await knowledge.put(whole('b', ['stone']))
    await knowledge.put(third('a', '1', 0))
    await knowledge.put(third('a', '1', 1))
    await knowledge.put(third('c', '1', 1))
    assert.equal(await knowledge.sweep(Date.now() - 60_000), 0)
    assert.equal(await knowledge.sweep(Date.now() + 60_000), 3)
    assert.equal(await knowledge.sweep(Date.now() + 60_000), 0)
    assert.equal((await knowledge.put(third('a', '1', 2))).complete, false)
    assert.deepEqual(await textsOf(knowledge, 'stone'), ['stone'])
    for (const part of [0, 1]) await knowledge.put(third('a', '1', part))
    assert.equal((await textsOf(knowledge, 'version1')).length, 6)
  },
}

/** An order that is always the same, and nobody's. */
const hashOf = (version: string, part: number): number => (Number(version) * 7 + part * 5) % 11
