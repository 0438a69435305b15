import { describe, expect, test } from 'vitest'
import { ModelError } from '../../models/model-error.ts'
import { wordEmbedder } from '../../testing/stand-ins.ts'
import { givenCollections, givenStore } from './fixtures/given-collections.ts'

const invalid = (message: string | RegExp) => ({
  code: 'INVALID_PARAMETERS',
  message: typeof message === 'string' ? message : expect.stringMatching(message),
})

describe('a document', () => {
  test('is split, embedded with headings and found with metadata', async () => {
    const { ingest, search, embedder, store } = await givenCollections()
    const content = '# Bread\n\nIt is baked of flour.\n\n## Rye\n\nSourdough takes two days.'
    const metadata = { author: 'Ada', heading: 'mine' }
    const { document_id } = await ingest(content, { metadata, source: 'bread.md', chunk_size: 50 })
    expect(await store.document('acme', 'wiki', document_id)).toMatchObject({ chunks: 2 })
    expect(embedder.requests).toEqual([
      ['Bread\n# Bread\n\nIt is baked of flour.', 'Bread › Rye\n## Rye\n\nSourdough takes two days.'],
    ])
    const { results, by, note } = await search('sourdough days')
    expect([by, note]).toEqual(['hybrid', undefined])
    expect(results[0]).toEqual({
      text: '## Rye\n\nSourdough takes two days.',
      score: expect.any(Number),
      source: 'bread.md',
      position: 1,
      metadata: { author: 'Ada', heading: 'mine' },
    })
  })

  test('is embedded once if it is ingested twice', async () => {
    const { ingest, embedder, collections } = await givenCollections()
    const first = await ingest('A stone.')
    expect(await ingest('A stone.')).toEqual(first)
    expect(first).toEqual({ document_id: expect.stringMatching(/^[0-9a-f]{32}$/), chunks: 1, complete: true })
    expect(embedder.requests).toHaveLength(1)
    expect(await collections.list('acme')).toContainEqual(expect.objectContaining({ name: 'wiki', documents: 1 }))
  })

  test.each([
    ['content', 'A river.', {}],
    ['metadata', 'A stone.', { metadata: { a: 'b' } }],
    ['source', 'A stone.', { source: 'elsewhere' }],
    ['chunks', 'A stone.', { chunks: [{ position: 0, text: 'stone', start: 2, end: 7, heading: 'Things' }] }],
  ] as const)('is replaced if its %s has changed', async (_, content, more) => {
    const { ingest, collections, search } = await givenCollections()
    await ingest('A stone.', { document_id: 'a' })
    await ingest(content, { document_id: 'a', ...more })
    expect(await collections.list('acme')).toContainEqual(expect.objectContaining({ documents: 1, chunks: 1 }))
    expect((await search('stone river')).results).toMatchObject([
      { source: 'source' in more ? 'elsewhere' : 'a', metadata: 'metadata' in more ? { a: 'b' } : {} },
    ])
  })

  test('is removed if its new content is empty', async () => {
    const { ingest, found, store } = await givenCollections()
    expect(await ingest(' \n')).toEqual({ document_id: expect.any(String), chunks: 0, complete: true })
    expect(await store.collection('acme', 'wiki')).toBeUndefined()
    await ingest('A stone.', { document_id: 'a' })
    expect(await ingest('', { document_id: 'a' })).toEqual({ document_id: 'a', chunks: 0, complete: true })
    expect(await found('stone')).toEqual([])
  })

  test("is stored in the caller's chunks", async () => {
    const { ingest, search } = await givenCollections()
    const chunks = [
      { position: 7, text: 'A stone.', start: 100, end: 108, heading: 'Things › Hard' },
      { position: 8, text: 'A river.', start: 109, end: 117, heading: '' },
    ]
    expect(await ingest('A stone. A river.', { document_id: 'a', chunks })).toMatchObject({ chunks: 2 })
    expect((await search('stone')).results[0]).toMatchObject({
      text: 'A stone.',
      position: 7,
      metadata: { heading: 'Things › Hard' },
    })
  })

  test('may contain NUL, lone surrogates and any line ends', async () => {
    const { ingest, found } = await givenCollections()
    await ingest('A\0 stone\r\n\ud800 lies.')
    expect(await found('stone')).toEqual(['A\ufffd stone\n\ufffd lies.'])
  })

  test('is separate in every tenant and collection', async () => {
    const { ingest, found, collections } = await givenCollections()
    await ingest('A stone.')
    await expect(found('stone', { tenant: 'other' })).rejects.toMatchObject(
      invalid(`Invalid parameters: collection "wiki" does not exist; use "docs"`),
    )
    await ingest('A river.', { tenant: 'other' })
    expect(await found('stone river', { tenant: 'other' })).toEqual(['A river.'])
    await expect(collections.ingest({ tenant: '(toolyard)', collection: 'docs', content: 'A' })).rejects.toMatchObject(
      invalid(/is reserved/),
    )
  })
})

describe('a document in parts', () => {
  const inParts = { document_id: 'book', parts: 3 }

  test('replaces the previous version when the last part is stored', async () => {
    const { ingest, found } = await givenCollections()
    await ingest('An old stone.', { document_id: 'book' })
    expect(await ingest('One stone.', { ...inParts, part: 1 })).toMatchObject({ chunks: 1, complete: false })
    expect(await ingest('Two stones.', { ...inParts, part: 2 })).toMatchObject({ chunks: 2, complete: false })
    expect(await found('stone')).toEqual(['An old stone.'])
    expect(await ingest('Three stones.', { ...inParts, part: 3 })).toMatchObject({ chunks: 3, complete: true })
    expect((await found('stone')).toSorted()).toEqual(['One stone.', 'Three stones.', 'Two stones.'])
  })

  test('is replaced if only a later part has changed', async () => {
    const { ingest, found } = await givenCollections()
    for (const last of ['Two rivers.', 'Two stones.']) {
      await ingest('One stone.', { document_id: 'book', part: 1, parts: 2 })
      await ingest(last, { document_id: 'book', part: 2, parts: 2 })
    }
    expect((await found('stone')).toSorted()).toEqual(['One stone.', 'Two stones.'])
    expect(await found('rivers', { by: 'text' })).toEqual([])
  })

  test('does not include parts of an abandoned version', async () => {
    const { ingest, found } = await givenCollections()
    await ingest('One stone.', { ...inParts, part: 1 })
    await ingest('Two rivers.', { ...inParts, part: 2 })
    await ingest('One stone.', { ...inParts, part: 1 })
    await ingest('Two stones.', { ...inParts, part: 2 })
    await ingest('Three stones.', { ...inParts, part: 3 })
    expect((await found('stone')).toSorted()).toEqual(['One stone.', 'Three stones.', 'Two stones.'])
  })

  test('stores nothing for other tenants, however many documents stay incomplete', async () => {
    const { ingest, store } = await givenCollections()
    for (const id of ['a', 'b', 'c']) await ingest('', { document_id: id, part: 1, parts: 2 })
    expect(await store.collections('(toolyard)')).toEqual([])
  })

  test('a part that is sent again after its version is complete joins no older one', async () => {
    const { ingest, found } = await givenCollections()
    const two = { document_id: 'book', parts: 2 }
    await ingest('An old stone.', { ...two, part: 1 })
    await ingest('One stone.', { ...two, part: 1 })
    await ingest('Two stones.', { ...two, part: 2 })
    await expect(ingest('Two stones.', { ...two, part: 2 })).rejects.toMatchObject(invalid(/no version was started/))
    expect((await found('stone')).toSorted()).toEqual(['One stone.', 'Two stones.'])
  })

  test('accepts parts in any order, and repeatedly, if they name a version', async () => {
    const { ingest, found } = await givenCollections()
    const send = (part: number, version = '1') =>
      ingest(`Stone ${part} of ${version}.`, { document_id: 'book', parts: 2, part, version })
    await Promise.all([send(2), send(1), send(2)])
    expect(await send(1)).toEqual({ document_id: 'book', chunks: 2, complete: true })
    await Promise.all([send(2, 'new'), send(1, 'new')])
    expect((await found('stone')).toSorted()).toEqual(['Stone 1 of new.', 'Stone 2 of new.'])
  })

  test('keeps the order of its chunks and counts as one document', async () => {
    const { ingest, search, collections } = await givenCollections()
    await ingest('One stone.', { ...inParts, part: 1 })
    await ingest('', { ...inParts, part: 2 })
    await ingest('Three stones.', { ...inParts, part: 3 })
    const { results } = await search('stone')
    expect(results.map(({ text, position }) => [position, text]).toSorted()).toEqual([
      [0, 'One stone.'],
      [200, 'Three stones.'],
    ])
    expect(await collections.list('acme')).toContainEqual(
      expect.objectContaining({ name: 'wiki', documents: 1, chunks: 2 }),
    )
  })

  test.each([
    [{ document_id: 'book', part: 2, parts: 2 }, /no version was started, so part 2 of 2 has no version\. Send part 1/],
    [{ parts: 2 }, /missing 'document_id'/],
    [{ document_id: 'book', part: 3, parts: 2 }, /part must be an integer from 1 to parts, which is 2, not 3/],
    [{ document_id: 'book', part: 0 }, /part must be an integer/],
    [{ document_id: 'book', parts: 0 }, /parts must be an integer from 1 to 100000, not 0/],
    [{ document_id: 'book', parts: 1.5 }, /parts must be an integer/],
  ])('is rejected with %j', async (more, message) => {
    const { ingest } = await givenCollections()
    await expect(ingest('A stone.', more)).rejects.toMatchObject(invalid(message))
  })

  test('is rejected if the number of parts changes', async () => {
    const { ingest } = await givenCollections()
    await ingest('One stone.', { ...inParts, part: 1 })
    await expect(ingest('Two.', { ...inParts, part: 2, parts: 4 })).rejects.toMatchObject(
      invalid(/the latest version has 3 parts/),
    )
  })
})

describe('rejects invalid documents and stores nothing', () => {
  test.each([
    ['a'.repeat(1_000_001), {}, /content has 1000001 characters, but one call accepts 1000000\. Split it/],
    ['# A\n\nb\n\n'.repeat(3_000), { chunk_size: 50 }, /content makes \d+ chunks, but one call accepts 100\. Split it/],
    ['A', { chunk_size: 49 }, /chunk_size must be an integer from 50 to 32000 characters, not 49/],
    ['A', { metadata: { a: 1 } as never }, /'a' of the metadata must be a string/],
    ['A', { metadata: { 'a\0': 'b' } }, /NUL/],
    ['A', { document_id: '' }, /document_id must not be empty/],
    ['A', { collection: '' }, /collection must not be empty/],
  ])('%#', async (content, more, message) => {
    const { ingest, store } = await givenCollections()
    await expect(ingest(content, more as object)).rejects.toMatchObject(invalid(message))
    expect(await store.collections('acme')).toEqual([])
  })
})

describe('vectors', () => {
  test('of another embedder are rejected, and searches use words only', async () => {
    const store = await givenStore()
    const before = await givenCollections({ store })
    await before.ingest('A stone.')
    const after = await givenCollections({ store, embedder: wordEmbedder({ id: 'other:model', dimensions: 32 }) })
    await expect(after.ingest('A river.')).rejects.toMatchObject(
      invalid(/has vectors of "stand-in:words" \(64 dimensions\).*set knowledge\.embedder to "stand-in:words"/),
    )
    expect(await after.search('stone')).toMatchObject({
      by: 'text',
      results: [{ text: 'A stone.' }],
      note: 'Collection "wiki" has vectors of "stand-in:words", but "other:model" is configured: searched by words only.',
    })
  })

  test('are created later if there is no embedder now', async () => {
    const store = await givenStore()
    const before = await givenCollections({ store })
    await before.ingest('A stone.')
    const without = await givenCollections({ store, embedder: undefined })
    for (let index = 0; index < 20; index++) await without.ingest(`River number ${index}.`)
    expect(await without.search('stone')).toMatchObject({ by: 'text', note: /no embedding model now/ })
    expect(await before.search('stone')).toMatchObject({
      by: 'text',
      note: '20 of 21 passages have no vector yet: searched by words only.',
    })
    const pauses: number[] = []
    const done = await before.collections.embedWaiting('acme', 'wiki', { pause: async (ms) => void pauses.push(ms) })
    expect([done, pauses.length]).toEqual([20, 2])
    expect((await before.search('stone')).note).toBeUndefined()
    await without.ingest('One more river.')
    expect(await before.search('stone')).toMatchObject({
      by: 'hybrid',
      note: '1 of 22 passages have no vector yet: searched those by words only.',
    })
    expect(await before.collections.embedWaiting('acme', 'wiki')).toBe(1)
    expect(await before.collections.embedWaiting('acme', 'nowhere')).toBe(0)
  })

  test('are not created if the store does not support them', async () => {
    const extension = () => {
      throw new Error('no such platform')
    }
    const { ingest, search, embedder } = await givenCollections({ extension })
    await ingest('A stone.')
    expect(await search('stone')).toMatchObject({ by: 'text', results: [{ text: 'A stone.' }], note: /has no vectors/ })
    expect(embedder.requests).toEqual([])
  })

  test('keep a document out if the provider fails, but finished ones are cached', async () => {
    let calls = 0
    const before = () => {
      if (++calls === 2) throw new ModelError('Busy.', { status: 429, retryable: true })
    }
    const embedder = wordEmbedder({ batch: 1, before })
    const { ingest, found } = await givenCollections({ embedder })
    const content = '# One\n\nA stone, and it is long enough.\n\n# Two\n\nA river, and it is long enough.'
    await expect(ingest(content, { chunk_size: 50 })).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(await found('stone')).toEqual([])
    await ingest(content, { chunk_size: 50 })
    // The cached vector is not requested again.
    expect(calls).toBe(3)
    expect(await found('stone')).toHaveLength(1)
  })

  test('are cached if a call is cancelled, but the document is not stored', async () => {
    const cancel = new AbortController()
    let calls = 0
    const before = () => {
      if (++calls === 10) cancel.abort(new Error('gone'))
    }
    const embedder = wordEmbedder({ batch: 1, before })
    const { collections, found } = await givenCollections({ embedder })
    const content = Array.from({ length: 30 }, (_, index) => `# Part ${index}\n\nStone number ${index} is here.`).join(
      '\n\n',
    )
    const part = { tenant: 'acme', collection: 'wiki', content, chunk_size: 50 }
    const progress: number[] = []
    const onProgress = (done: number) => void progress.push(done)
    await expect(collections.ingest(part, { signal: cancel.signal, onProgress })).rejects.toThrow('gone')
    expect(await found('stone')).toEqual([])
    const asked = calls
    await collections.ingest(part, { onProgress })
    expect(calls).toBeLessThan(asked + 25)
    expect(progress.at(-1)).toBe(30)
    expect(await found('stone')).toHaveLength(5)
  })

  test('limit the chunk size to what the model reads', async () => {
    const { ingest, store, collections } = await givenCollections({ embedder: wordEmbedder({ maxCharacters: 300 }) })
    expect(await collections.chunkSize()).toBe(200)
    const { document_id } = await ingest('Some words that go on. '.repeat(30))
    const hits = await store.byText({ tenant: 'acme', collection: 'wiki', most: 100, text: 'words' })
    expect(Math.max(...hits.map(({ text }) => text.length))).toBeLessThanOrEqual(200)
    expect(await collections.versionOf('acme', 'wiki', document_id)).toMatch(/^[0-9a-f]{32}$/)
  })
})
