import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type RecordingProxy, startRecordingProxy } from '../../models/fixtures/recording-proxy.ts'
import { json, startWireServer, type WireServer } from '../../models/fixtures/wire-server.ts'
import { hastyClock } from './fixtures/hasty-clock.ts'
import { openEmbedder } from './open-embedder.ts'

const MODEL = 'text-embedding-3-small'

describe('OpenAI embeddings', () => {
  let mock: LLMock
  let proxy: RecordingProxy
  beforeAll(async () => {
    mock = new LLMock({ host: '127.0.0.1', port: 0 })
    mock.onEmbedding(/.*/, { embedding: [3, 0, 4] })
    await mock.start()
    proxy = await startRecordingProxy(mock.url)
  })
  afterAll(async () => {
    await proxy.stop()
    await mock.stop()
  })

  test('are accepted by a third-party server', async () => {
    const providers = [{ name: 'mine', type: 'openai', base_url: `${proxy.url}/v1/`, api_key: 'k' }]
    const embedder = await openEmbedder(`mine:${MODEL}`, { providers })
    expect([embedder.id, embedder.dimensions]).toEqual([`mine:${MODEL}`, 3])
    const vectors = await embedder.embed(['one', 'two'], 'document')
    expect(vectors.map((vector) => [...vector])).toEqual(Array(2).fill([0.6, 0, 0.8].map(Math.fround)))
    const { path, headers, body } = proxy.requests.at(-1) ?? {}
    expect([path, headers?.authorization]).toEqual(['/v1/embeddings', 'Bearer k'])
    expect(body).toEqual({ model: MODEL, input: ['one', 'two'], encoding_format: 'float' })
  })
})

describe('requests to OpenAI', () => {
  let server: WireServer
  beforeAll(async () => {
    server = await startWireServer()
  })
  afterAll(() => server.stop())
  beforeEach(() => {
    server.requests.length = 0
  })

  const answer = (...vectors: unknown[]) =>
    json(200, {
      object: 'list',
      data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
      model: MODEL,
      usage: { prompt_tokens: 1, total_tokens: 1 },
    })
  const open = async (more: object = {}) => {
    server.replies = [answer([1, 0])]
    const providers = [{ name: 'mine', type: 'openai', base_url: server.url, ...more }]
    return openEmbedder('mine:some-model', { providers, clock: hastyClock })
  }

  test('sends configured headers, and no key if there is none', async () => {
    await open({ headers: { 'x-team': 'blue' } })
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization')
    expect(server.requests[0]?.headers).toMatchObject({ 'x-team': 'blue' })
  })

  test('retries after the delay that the server requests', async () => {
    const embedder = await open()
    server.replies = [
      json(429, { error: { message: 'Too fast.' } }, { 'retry-after': '2' }),
      json(503, { error: { message: 'Down.' } }),
      answer([0, 2]),
    ]
    expect([...((await embedder.embed(['a'], 'query'))[0] as Float32Array)]).toEqual([0, 1])
    expect(server.requests.length).toBe(4)
  })

  test('gives up after the maximum number of attempts', async () => {
    const embedder = await open()
    server.replies = [json(500, { error: { message: 'It broke down.' } })]
    await expect(embedder.embed(['a'], 'query')).rejects.toMatchObject({
      name: 'ModelError',
      message: 'mine:some-model: The provider answered 500: It broke down. Try again later.',
      status: 500,
      retryable: true,
    })
    expect(server.requests.length).toBe(5)
  })

  test('does not retry rejected requests, and hides keys', async () => {
    const embedder = await open({ api_key: 'sk-secret' })
    server.replies = [json(401, { error: { message: 'Incorrect API key provided: sk-secret.' } })]
    await expect(embedder.embed(['a'], 'query')).rejects.toThrow(
      /^mine:some-model: The provider answered 401\. Check the api_key\.$/,
    )
    expect(server.requests.length).toBe(2)
  })

  test.each([
    ['fewer vectors', answer(), 'mine:some-model: Received 0 vectors for 1 texts.'],
    ['longer vectors', answer([1, 0, 0]), 'mine:some-model: Vector 1 has 3 dimensions, not 2.'],
    ['zeros', answer([0, 0]), 'mine:some-model: Vector 1 has no direction'],
    ['no numbers', answer([null, 1]), 'mine:some-model: The provider sent an invalid response.'],
    ['something else', json(200, { hello: 1 }), 'mine:some-model: The provider sent an invalid response.'],
  ])('rejects a response with %s', async (_name, reply, message) => {
    const embedder = await open()
    server.replies = [reply]
    await expect(embedder.embed(['a'], 'document')).rejects.toThrow(message)
    expect(server.requests.length).toBe(2)
  })

  test('retries a truncated response', async () => {
    const embedder = await open()
    server.replies = [
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 })
        response.write('{"data":', () => setTimeout(() => response.destroy(), 20))
      },
      answer([0, 2]),
    ]
    expect([...((await embedder.embed(['a'], 'query'))[0] as Float32Array)]).toEqual([0, 1])
  })

  test('splits many texts into several requests', async () => {
    const embedder = await open()
    const texts = Array.from({ length: embedder.batch + 1 }, (_, index) => `text ${index}`)
    server.replies = [answer(...texts.slice(1).map((_, index) => [1, index])), answer([0, -1])]
    const vectors = await embedder.embed(texts, 'document')
    expect(vectors.length).toBe(texts.length)
    expect([...(vectors[0] as Float32Array), ...(vectors.at(-1) as Float32Array)]).toEqual([1, 0, 0, -1])
    expect(server.requests.slice(1).map(({ body }) => (body as { input: string[] }).input)).toEqual([
      texts.slice(0, embedder.batch),
      texts.slice(embedder.batch),
    ])
  })

  test('replaces lone surrogates', async () => {
    const embedder = await open()
    await embedder.embed(['a\ud800b'], 'document')
    expect(server.requests.at(-1)?.body).toMatchObject({ input: ['a\ufffdb'] })
  })

  test('sends nothing for an empty text or an aborted call', async () => {
    const embedder = await open()
    await expect(embedder.embed(['a', ' \n'], 'document')).rejects.toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: 'Text 2 of 2 is empty: leave it out.',
    })
    const reason = new Error('gone')
    await expect(embedder.embed(['a'], 'document', AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(await embedder.embed([], 'document')).toEqual([])
    expect(server.requests.length).toBe(1)
  })
})
