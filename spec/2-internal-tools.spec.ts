import { describe, expect, test } from 'vitest'
import { configured, yard } from './yard.ts'

describe('Internal tools', () => {
  test('implementation.type: "internal" calls a service of the host application', async () => {
    const stock = new Map([['apples', 3]])
    const { execute } = await yard({
      in_stock: { run: ({ item }) => stock.get(item as string) ?? 0, type: 'internal' },
    })
    expect(await execute('in_stock', { item: 'apples' })).toMatchObject({ result: 3 })
  })

  test('rag_query, behind search_documents, gives {results: [{text, score, source, position, metadata}]}', async () => {
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
