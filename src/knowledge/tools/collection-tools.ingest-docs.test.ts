import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { HandlerContext } from '../../core/handler.ts'
import { silentLog } from '../../core/log.ts'
import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import type { Params } from '../../core/tool.ts'
import { compileTools } from '../../models/dialects/compile-tools.ts'
import { ManualClock, wordEmbedder } from '../../testing/stand-ins.ts'
import { givenCollections, givenStore } from '../collections/fixtures/given-collections.ts'
import type { Embedder } from '../embedding/embedder.ts'
import { type FindChunks, ingestDocsTool } from './collection-tools.ts'

interface Given {
  readonly batch?: number
  readonly findChunks?: FindChunks
  readonly embedder?: Embedder
  readonly clock?: Clock
  readonly store?: KnowledgeStore
}

async function given({
  batch = 16,
  findChunks,
  embedder = wordEmbedder({ batch }),
  clock = systemClock,
  store,
}: Given = {}) {
  const collections = await givenCollections({ embedder, clock, ...(store && { store }) })
  const { definition, handler } = ingestDocsTool(collections.collections, findChunks)
  const reports: unknown[] = []
  const context: HandlerContext = {
    signal: new AbortController().signal,
    tenant: 'acme',
    flags: {},
    report: (progress) => void reports.push(progress),
    log: silentLog,
  }
  const call = async (params: Params) => handler(params, context)
  return { ...collections, definition, call, reports }
}

const aborted = (signal?: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason))
  })

describe('ingest_docs', () => {
  test('uses the collection docs by default, and reports progress', async () => {
    const { call, reports, found } = await given({ batch: 1 })
    const content = '# One\n\nA stone, and it is long enough.\n\n# Two\n\nA stone, too, of the same length.'
    const params = { content, chunk_size: 50, source: 'stones.md', document_id: 'stones' }
    expect(await call(params)).toEqual({ document_id: 'stones', chunks: 2 })
    expect(reports.at(-1)).toEqual({ progress: 2, total: 2 })
    expect(await found('stone', { collection: 'docs' })).toHaveLength(2)
  })

  test('reports whether all parts are stored', async () => {
    const { call } = await given()
    const part = { document_id: 'a', parts: 2, version: '1', source: 'a.md' }
    expect(await call({ content: 'One.', part: 1, ...part })).toEqual({ document_id: 'a', chunks: 1, complete: false })
    expect(await call({ content: 'Two.', part: 2, ...part })).toEqual({ document_id: 'a', chunks: 2, complete: true })
  })

  test('stores chunks that the caller has split', async () => {
    const chunk = { position: 3, text: 'A stone.', start: 10, end: 18, heading: 'Things' }
    const { call, search } = await given({ findChunks: (id, part) => (id === 'a' && part === 1 ? [chunk] : undefined) })
    await call({ content: 'A stone.', collection: 'wiki', document_id: 'a' })
    expect((await search('stone')).results).toMatchObject([{ position: 3, metadata: { heading: 'Things' } }])
  })

  test('does not let models pass chunks', async () => {
    const { call, definition, search } = await given()
    expect(definition.parameters.properties).not.toHaveProperty('cut')
    await call({ content: 'A stone.', collection: 'wiki', cut: { position: 3, offset: 10, pieces: [[0, 1, 'x']] } })
    expect((await search('stone')).results).toMatchObject([{ text: 'A stone.', position: 0 }])
  })

  test('S10 stores 100 chunks in time with an embedding model that is too slow, and embeds the rest later', async () => {
    const clock = new ManualClock()
    const words = wordEmbedder({ batch: 10 })
    let fast = 2
    const resume = Promise.withResolvers<void>()
    const slow: Embedder = {
      ...words,
      async embed(texts, purpose, signal) {
        if (fast-- <= 0) await Promise.race([resume.promise, aborted(signal)])
        return words.embed(texts, purpose, signal)
      },
    }
    const { call, reports, collections, search } = await given({ embedder: slow, clock })
    onTestFinished(() => collections.close())
    const content = Array.from({ length: 100 }, (_, at) => `# Part ${at}\n\nA stone of number ${at}.`).join('\n\n')
    const storing = call({ content, collection: 'wiki', document_id: 'stones', chunk_size: 50 })
    await vi.waitFor(() => expect(reports.at(-1)).toEqual({ progress: 20, total: 100 }))
    clock.advance(36_000)
    expect(await storing).toEqual({
      document_id: 'stones',
      chunks: 100,
      without_vector: 80,
      note: 'Stored. 80 chunks have no vector yet and are found by words only. A server embeds the rest in the background; the same call again waits for more.',
    })
    const stands = async () => (await collections.list('acme')).find(({ name }) => name === 'wiki')
    expect(await stands()).toMatchObject({ chunks: 100, without_vector: 80 })
    expect(await search('stone number 77')).toMatchObject({
      by: 'text',
      results: [{ text: expect.stringContaining('77') }],
    })
    resume.resolve()
    await vi.waitFor(async () => expect(await stands()).toMatchObject({ without_vector: 0 }))
    expect(await search('stone number 77')).toMatchObject({ by: 'hybrid' })
  })

  test('S10 the same call again embeds what is left of a stored document', async () => {
    const clock = new ManualClock()
    const words = wordEmbedder()
    let stuck = true
    const embedder: Embedder = {
      ...words,
      embed: (texts, purpose, signal) => (stuck ? aborted(signal) : words.embed(texts, purpose, signal)),
    }
    const store = await givenStore()
    const first = await given({ embedder, clock, store })
    const params = { content: 'A stone.', document_id: 'stone' }
    const storing = first.call(params)
    await vi.waitFor(() => expect(clock.pending).toBe(1))
    clock.advance(36_000)
    expect(await storing).toMatchObject({ chunks: 1, without_vector: 1 })
    // As if the process had ended.
    await first.collections.close()
    stuck = false
    const second = await given({ embedder, clock, store })
    expect(await second.call(params)).toEqual({ document_id: 'stone', chunks: 1 })
    expect(await second.collections.list('acme')).toMatchObject([{ name: 'docs', without_vector: 0 }])
    expect(clock.pending).toBe(0)
  })

  test('S10 ends earlier if the call has less time', async () => {
    const clock = new ManualClock()
    const never: Embedder = {
      ...wordEmbedder(),
      embed: (_texts, _purpose, signal) => aborted(signal),
    }
    const { collections } = await givenCollections({ embedder: never, clock })
    onTestFinished(() => collections.close())
    const { handler } = ingestDocsTool(collections)
    const base = { tenant: 'acme', flags: {}, report: () => {}, log: silentLog, signal: new AbortController().signal }
    const storing = handler({ content: 'A stone.' }, { ...base, timeoutMs: 10_000 })
    await vi.waitFor(() => expect(clock.pending).toBe(1))
    clock.advance(6_000)
    expect(await storing).toMatchObject({
      chunks: 1,
      without_vector: 1,
      note: expect.stringMatching(/^Stored\. 1 chunk has/),
    })
  })

  test.each([
    [{}, "missing 'content'"],
    [{ content: 5 }, 'content must be a string'],
    [{ content: 'A', metadata: ['a'] }, 'metadata must be an object of strings'],
    [{ content: 'A', metadata: { tags: ['a'] } }, 'metadata.tags must be a string'],
    [{ content: 'A', metadata: null }, 'metadata must be an object of strings'],
    [{ content: 'A', chunk_size: '50' }, 'chunk_size must be an integer'],
    [{ content: 'A', part: 2 }, 'part must be an integer from 1 to parts, which is 1, not 2'],
  ])('rejects %j', async (params, message) => {
    const { call } = await given()
    await expect(call(params)).rejects.toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: expect.stringContaining(`Invalid parameters: ${message}`),
    })
  })

  test.each(['openai', 'anthropic', 'gemini', 'ollama'] as const)('can be offered to models of %s', async (dialect) => {
    const { definition } = await given()
    expect(compileTools([definition], dialect)).toMatchObject({ tools: [{ name: 'ingest_docs' }], omitted: [] })
  })

  test('has a timeout of 60 s and is idempotent', async () => {
    expect((await given()).definition).toMatchObject({ timeout_ms: 60_000, effect: 'idempotent' })
  })
})
