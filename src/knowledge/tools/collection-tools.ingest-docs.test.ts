import { describe, expect, test } from 'vitest'
import type { HandlerContext } from '../../core/handler.ts'
import { silentLog } from '../../core/log.ts'
import type { Params } from '../../core/tool.ts'
import { compileTools } from '../../models/dialects/compile-tools.ts'
import { wordEmbedder } from '../../testing/stand-ins.ts'
import { givenCollections } from '../collections/fixtures/given-collections.ts'
import { type FindChunks, ingestDocsTool } from './collection-tools.ts'

async function given({ batch = 16, findChunks }: { readonly batch?: number; readonly findChunks?: FindChunks } = {}) {
  const collections = await givenCollections({ embedder: wordEmbedder({ batch }) })
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
