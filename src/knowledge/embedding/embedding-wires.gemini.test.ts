import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { json, startWireServer, type WireServer } from '../../models/fixtures/wire-server.ts'
import { openEmbedder } from './open-embedder.ts'

describe('Gemini embeddings', () => {
  let server: WireServer
  beforeAll(async () => {
    server = await startWireServer()
  })
  afterAll(() => server.stop())
  const open = (url: string, model = 'some-model') => {
    const providers = [{ name: 'gemini', type: 'gemini', base_url: `${url}/v1beta`, api_key: 'k' }]
    return openEmbedder(`gemini:${model}`, { providers })
  }

  test('are accepted by a third-party server', async () => {
    const mock = new LLMock({ host: '127.0.0.1', port: 0 })
    mock.onEmbedding(/.*/, { embedding: [0, 2] })
    await mock.start()
    try {
      const embedder = await open(mock.url)
      expect(embedder.dimensions).toBe(2)
      expect([...((await embedder.embed(['one'], 'query'))[0] as Float32Array)]).toEqual([0, 1])
    } finally {
      await mock.stop()
    }
  })

  test('sends several texts in one request with their purpose', async () => {
    server.requests.length = 0
    server.replies = [json(200, { embedding: { values: [1, 0] } })]
    const embedder = await open(server.url)
    server.replies = [json(200, { embeddings: [{ values: [0, 5] }, { values: [5, 0] }] })]
    const vectors = await embedder.embed(['one', 'two'], 'document')
    expect(vectors.map((vector) => [...vector])).toEqual([
      [0, 1],
      [1, 0],
    ])
    server.replies = [json(200, { embedding: { values: [1, 0] } })]
    await embedder.embed(['three'], 'query')
    const [, batch, single] = server.requests
    expect(batch).toMatchObject({
      path: '/v1beta/models/some-model:batchEmbedContents',
      headers: { 'x-goog-api-key': 'k' },
      body: {
        requests: [
          { model: 'models/some-model', content: { parts: [{ text: 'one' }] }, taskType: 'RETRIEVAL_DOCUMENT' },
          { model: 'models/some-model', content: { parts: [{ text: 'two' }] }, taskType: 'RETRIEVAL_DOCUMENT' },
        ],
      },
    })
    expect(single).toMatchObject({
      path: '/v1beta/models/some-model:embedContent',
      body: { content: { parts: [{ text: 'three' }] }, taskType: 'RETRIEVAL_QUERY' },
    })
  })

  test('opens a known model without a request', async () => {
    server.requests.length = 0
    expect((await open(server.url, 'gemini-embedding-001')).dimensions).toBe(3072)
    expect(server.requests).toEqual([])
  })

  test('requires a key', async () => {
    await expect(openEmbedder('gemini:m', { providers: [{ name: 'gemini', type: 'gemini' }] })).rejects.toThrow(
      'Set providers.gemini.api_key, for example to "${GEMINI_API_KEY}".',
    )
  })
})
