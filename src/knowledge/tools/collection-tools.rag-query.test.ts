import { describe, expect, test } from 'vitest'
import type { HandlerContext } from '../../core/handler.ts'
import { silentLog } from '../../core/log.ts'
import type { Params } from '../../core/tool.ts'
import { givenCollections } from '../collections/fixtures/given-collections.ts'
import type { SearchResult } from '../collections/search.ts'
import { ragQueryHandler } from './collection-tools.ts'

const context: HandlerContext = {
  signal: new AbortController().signal,
  tenant: 'acme',
  flags: {},
  report: () => {},
  log: silentLog,
}

async function given() {
  const collections = await givenCollections()
  const handler = ragQueryHandler(collections.collections)
  const find = async (params: Params) => (await handler(params, context)) as { results: SearchResult[] }
  return { ...collections, find }
}

test("finds passages in the caller's collections, filtered by metadata", async () => {
  const { find, ingest } = await given()
  await ingest('A stone.', { source: 'a.md', metadata: { kind: 'thing' } })
  await ingest('A stone, too.', { source: 'b.md' })
  expect(await find({ query: 'stone', collection: 'wiki', filter: { kind: 'thing' } })).toEqual({
    results: [
      { text: 'A stone.', score: expect.any(Number), source: 'a.md', position: 0, metadata: { kind: 'thing' } },
    ],
  })
  expect((await find({ query: 'stone', collection: 'wiki', max_results: 1 })).results).toHaveLength(1)
})

describe("Toolyard's own docs", () => {
  test.each([
    ['deadline of a call', 'concepts/life-of-a-call.md'],
    ['MCP servers', 'reference/command-line.md'],
    ['evaluating expressions', 'reference/tools/calculate.md'],
    ['RATE_LIMITED', 'reference/errors.md'],
  ])('answer %j', async (query, source) => {
    const { find } = await given()
    expect((await find({ query })).results.map((one) => one.source)).toContain(source)
  })

  test.each([
    'Python decorators',
    'Search for Python decorators in the docs',
    'calls in Haskell monads',
    'what is this about',
    '?!',
  ])('return nothing for %j', async (query) => {
    const { find } = await given()
    expect(await find({ query })).toEqual({ results: [] })
  })
})

test.each([
  [{}, 'query must be a non-empty string'],
  [{ query: ' ' }, 'query must be a non-empty string'],
  [{ query: 5 }, 'query must be a string'],
  [{ query: 'a'.repeat(1_001) }, 'query must not be longer than 1000 characters'],
  [{ query: 'a', collection: 'wiki' }, `collection "wiki" does not exist; use "docs"`],
  [{ query: 'a', max_results: 0 }, 'max_results must be an integer from 1 to 20, not 0'],
  [{ query: 'a', max_results: '5' }, 'max_results must be an integer from 1 to 20, not "5"'],
  [{ query: 'a', filter: ['b'] }, 'filter must be an object of strings'],
  [{ query: 'a', filter: { b: 1 } }, 'filter must be an object of strings'],
])('rejects parameters %#', async (params, message) => {
  const { find } = await given()
  await expect(find(params)).rejects.toMatchObject({
    code: 'INVALID_PARAMETERS',
    message: `Invalid parameters: ${message}`,
  })
})
