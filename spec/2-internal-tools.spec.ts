import { describe, expect, test } from 'vitest'
import { configured, withTools } from './fixtures/tool-manager.ts'

describe('Internal tools', () => {
  test('[2.5-1] calls a service of the host application', async () => {
    const stock = new Map([['apples', 3]])
    const { execute } = await withTools({
      in_stock: { run: ({ item }) => stock.get(item as string) ?? 0, type: 'internal' },
    })
    expect(await execute('in_stock', { item: 'apples' })).toMatchObject({ result: 3 })
  })

  test('[2.5-2] searches documents with rag_query', async () => {
    const { execute } = await configured([
      {
        name: 'search_documents',
        description: 'Searches the documents',
        parameters: {
          type: 'object',
          properties: {
            query: { type: 'string' },
            collection: { type: 'string' },
            max_results: { type: 'integer', default: 5 },
          },
          required: ['query'],
        },
        implementation: { type: 'internal', handler: 'rag_query' },
      },
    ])
    const found = (await execute('search_documents', { query: 'timeout' })) as { result: { results: object[] } }
    expect(found.result.results.length).toBeGreaterThan(0)
    expect(found.result.results.length).toBeLessThanOrEqual(5)
    for (const one of found.result.results)
      expect(one).toEqual({
        text: expect.any(String),
        score: expect.any(Number),
        source: expect.any(String),
        position: expect.any(Number),
        metadata: expect.any(Object),
      })
  })
})
