import assert from 'node:assert/strict'
import type { DocumentPart } from '../../../src/core/storage/knowledge-store.ts'
import { DEFAULT_QUOTA, type Quota } from '../../../src/core/storage/quota.ts'
import { chunk, textsOf, whole, withDocs } from '../../../src/storage/fixtures/given-knowledge.ts'
import type { KnowledgeClauses } from '../storage/contract-store.ts'
import { exceeds, NUL, refuses, UNICODE } from '../storage/contract-store.ts'

const quota = (more: Partial<Quota>): Quota => ({ ...DEFAULT_QUOTA, ...more })

export const documentClauses: KnowledgeClauses = {
  'documents: a tenant has at most as many as its quota says, in all collections': async (store) => {
    const knowledge = await withDocs(await store.open())
    await knowledge.open('acme', 'more', null)
    const two = quota({ documents: 2 })
    await knowledge.put(whole('a', ['one']), two)
    await knowledge.put(whole('b', ['two'], { collection: 'more' }), two)
    await exceeds('documents', knowledge.put(whole('c', ['three']), two))
    await knowledge.put(whole('a', ['four'], { version: '2' }), two)
    await knowledge.remove('acme', 'docs', 'a')
    await knowledge.put(whole('c', ['three']), two)
  },

  'documents: their texts and headings count as storage until they are removed or replaced': async (store) => {
    const knowledge = await withDocs(await store.open())
    const most = quota({ storage_bytes: 100 })
    const text = (bytes: number) => [chunk(0, 'é'.repeat(bytes / 2 - 2), { heading: 'head' })]
    const put = (id: string, bytes: number, more: Partial<DocumentPart> = {}) =>
      knowledge.put(whole(id, [], { chunks: text(bytes), source: '', ...more }), most)
    await put('a', 60)
    await exceeds('storage_bytes', put('b', 42))
    assert.deepEqual(await textsOf(knowledge, 'head'), ['é'.repeat(28)])
    await put('a', 40, { version: '2' })
    await put('b', 60)
    await exceeds('storage_bytes', put('c', 10))
    await knowledge.remove('acme', 'docs', 'b')
    await put('staged', 60, { parts: 2 })
    await exceeds('storage_bytes', put('c', 10))
    await knowledge.sweep(Date.now() + 60_000)
    await put('c', 60)
    await knowledge.drop('acme', 'docs')
    await knowledge.open('acme', 'docs', null)
    await put('d', 100)
  },

  'documents: their sources and metadata count as storage': async (store) => {
    const knowledge = await withDocs(await store.open())
    const most = quota({ storage_bytes: 100 })
    const put = (source: string, metadata: Readonly<Record<string, string>>) =>
      knowledge.put(whole('a', ['ten bytes.'], { source, metadata, version: source }), most)
    await exceeds('storage_bytes', put('s'.repeat(91), {}))
    await exceeds('storage_bytes', put('source', { key: 'v'.repeat(82) }))
    await put('source', { key: 'v'.repeat(81) })
  },

  'documents: a document is stored whole': async (store) => {
    const [one, other] = await store.openTwo()
    const knowledge = await withDocs(one)
    const metadata = { language: 'en', [UNICODE]: UNICODE, 'a.b "c"': '', __proto__x: '1' }
    const chunks = [
      chunk(0, `stone ${UNICODE}`, { heading: `A › ${UNICODE}` }),
      chunk(7, 'bread', { start: 2_000_000_000, end: 2_147_483_647 }),
    ]
    const part = whole(UNICODE, [], { source: `https://x/${UNICODE}`, metadata, chunks })
    assert.deepEqual(await knowledge.put(part), { complete: true, chunks: 2 })
    const [hit, ...more] = await other.knowledge.byText({ tenant: 'acme', collection: 'docs', most: 5, text: 'stone' })
    assert.equal(more.length, 0)
    const { chunk_id, score, ...rest } = hit ?? {}
    assert.equal(typeof chunk_id, 'string')
    assert.ok((score as number) > 0)
    const { vector: _, ...kept } = chunks[0] as (typeof chunks)[0]
    assert.deepEqual(rest, { ...kept, document_id: UNICODE, source: part.source, metadata })
    const [second] = await other.knowledge.byText({ tenant: 'acme', collection: 'docs', most: 5, text: 'bread' })
    assert.deepEqual([second?.position, second?.start, second?.end], [7, 2_000_000_000, 2_147_483_647])
    assert.deepEqual(await other.knowledge.document('acme', 'docs', UNICODE), { version: '1', chunks: 2 })
    assert.equal(await other.knowledge.document('acme', 'docs', 'another'), undefined)
  },

  'documents: the same version again changes nothing': async (store) => {
    const knowledge = await withDocs(await store.open())
    const find = () => knowledge.byText({ tenant: 'acme', collection: 'docs', most: 5, text: 'stone' })
    await knowledge.put(whole('a', ['stone', 'a second stone']))
    const before = await find()
    for (const again of [whole('a', ['something else']), whole('a', ['stone'], { parts: 3 })]) {
      assert.deepEqual(await knowledge.put(again), { complete: true, chunks: 2 })
    }
    assert.deepEqual(await find(), before)
    assert.equal((await knowledge.collection('acme', 'docs'))?.documents, 1)
    assert.equal(await knowledge.sweep(Date.now() + 60_000), 0)
  },

  'documents: another version takes the place of the one before, and may be put again later': async (store) => {
    const knowledge = await withDocs(await store.open())
    await knowledge.put(whole('other', ['stone of another']))
    for (const version of ['1', '2', '1']) {
      await knowledge.put(whole('a', [`stone ${version}`], { version, metadata: { version } }))
      assert.deepEqual((await textsOf(knowledge, 'stone')).toSorted(), [`stone ${version}`, 'stone of another'])
      assert.deepEqual(await knowledge.document('acme', 'docs', 'a'), { version, chunks: 1 })
      const filter = { version: version === '1' ? '2' : '1' }
      const query = { tenant: 'acme', collection: 'docs', most: 5, text: 'stone', filter }
      assert.deepEqual(await knowledge.byText(query), [])
    }
  },

  'documents: one without chunks takes the place of one that has some': async (store) => {
    const knowledge = await withDocs(await store.open())
    await knowledge.put(whole('a', ['stone']))
    assert.deepEqual(await knowledge.put(whole('a', [], { version: '2' })), { complete: true, chunks: 0 })
    assert.deepEqual(await textsOf(knowledge, 'stone'), [])
    assert.deepEqual(await knowledge.document('acme', 'docs', 'a'), { version: '2', chunks: 0 })
  },

  'documents: a removed document is not found': async (store) => {
    const knowledge = await withDocs(await store.open())
    await knowledge.put(whole('a', ['stone']))
    await knowledge.put(whole('b', ['stone of another']))
    assert.equal(await knowledge.remove('acme', 'docs', 'a'), true)
    assert.equal(await knowledge.remove('acme', 'docs', 'a'), false)
    assert.equal(await knowledge.document('acme', 'docs', 'a'), undefined)
    assert.deepEqual(await textsOf(knowledge, 'stone'), ['stone of another'])
    await knowledge.put(whole('a', ['stone']))
    assert.deepEqual((await textsOf(knowledge, 'stone')).length, 2)
  },

  'documents: readers see a large one replaced, removed and dropped at once': async (store) => {
    const knowledge = await withDocs(await store.open())
    const large = (version: string, part: number): DocumentPart => {
      const chunks = Array.from({ length: 500 }, (_, index) => chunk(part * 500 + index, `stone version${version}`))
      return whole('a', [], { version, part, parts: 2, chunks })
    }
    for (const version of ['1', '2']) {
      for (const part of [0, 1]) await knowledge.put(large(version, part))
      const hits = await knowledge.byText({ tenant: 'acme', collection: 'docs', most: 1_000, text: 'stone' })
      assert.deepEqual([...new Set(hits.map(({ text }) => text))], [`stone version${version}`])
      assert.equal(hits.length, 1_000)
    }
    await knowledge.remove('acme', 'docs', 'a')
    assert.deepEqual(await textsOf(knowledge, 'stone'), [])
    await knowledge.put(whole('b', ['stone']))
    assert.deepEqual(await textsOf(knowledge, 'stone'), ['stone'])
    await knowledge.put(large('3', 0))
    await knowledge.drop('acme', 'docs')
    await knowledge.open('acme', 'docs', null)
    await knowledge.put(whole('b', ['stone']))
    assert.deepEqual(await textsOf(knowledge, 'stone'), ['stone'])
  },

  'documents: an invalid document is rejected, and leaves nothing': async (store) => {
    const knowledge = await withDocs(await store.open())
    const long = (length: number) => 'x'.repeat(length)
    const withChunk = (more: object) => ({ chunks: [chunk(0, 'stone'), chunk(1, 'stone', more)] })
    const bad: Partial<DocumentPart>[] = [
      { document_id: '' },
      { document_id: NUL },
      { document_id: long(513) },
      { version: '' },
      { version: NUL },
      { version: long(129) },
      { source: NUL },
      { source: long(4_097) },
      { part: 1 },
      { part: -1 },
      { part: 0.5 },
      { parts: 0 },
      { parts: 100_001 },
      { metadata: { [NUL]: 'x' } },
      { metadata: { x: NUL } },
      { metadata: { '': 'x' } },
      { metadata: { x: 1 } as unknown as Record<string, string> },
      { metadata: { x: long(4_097) } },
      { metadata: Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, ''])) },
      { chunks: Array.from({ length: 1_001 }, (_, index) => chunk(index, 'stone')) },
      withChunk({ text: NUL }),
      withChunk({ text: long(100_001) }),
      withChunk({ heading: NUL }),
      withChunk({ heading: long(10_001) }),
      withChunk({ position: 0 }),
      withChunk({ position: -1 }),
      withChunk({ start: 5, end: 4 }),
      withChunk({ end: 2_147_483_648 }),
    ]
    for (const more of bad) await refuses(knowledge.put(whole('a', ['stone'], more)))
    assert.deepEqual(await textsOf(knowledge, 'stone'), [])
    assert.equal(await knowledge.sweep(Date.now() + 60_000), 0)
  },

  'documents: texts of the maximum length are stored, and half characters are replaced': async (store) => {
    const knowledge = await withDocs(await store.open())
    const wide = (length: number) => '語'.repeat(length)
    const part = whole(wide(512), [], {
      version: wide(128),
      source: wide(4_096),
      metadata: { [wide(255)]: wide(4_096), half: '\ud83d' },
      chunks: [chunk(0, `stone ${wide(99_994)}`, { heading: wide(10_000) }), chunk(1, 'bread \ud83d')],
    })
    await knowledge.put(part)
    const [hit] = await knowledge.byText({ tenant: 'acme', collection: 'docs', most: 1, text: 'stone' })
    assert.equal(hit?.text, part.chunks[0]?.text)
    assert.deepEqual(hit?.metadata, { ...part.metadata, half: '\ufffd' })
    assert.deepEqual(await knowledge.document('acme', 'docs', wide(512)), { version: wide(128), chunks: 2 })
    assert.deepEqual(await textsOf(knowledge, 'bread'), ['bread \ufffd'])
  },
}
