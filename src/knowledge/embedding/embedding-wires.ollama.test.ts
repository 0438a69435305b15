import { afterEach, describe, expect, test } from 'vitest'
import { type OllamaReply, type OllamaServer, startOllamaServer } from '../../models/fixtures/ollama-server.ts'
import { hastyClock } from './fixtures/hasty-clock.ts'
import { openEmbedder } from './open-embedder.ts'

let server: OllamaServer | undefined
afterEach(async () => {
  await server?.stop()
  server = undefined
})

const vectors = (...embeddings: number[][]): OllamaReply => ({
  status: 200,
  body: { model: 'm', embeddings, total_duration: 14143917, load_duration: 1019500, prompt_eval_count: 8 },
})

async function openAt(url: string, model: string, more: object = {}) {
  return openEmbedder(`local-ollama:${model}`, {
    providers: [{ name: 'local-ollama', type: 'ollama', base_url: url, ...more }],
    clock: hastyClock,
  })
}

async function open(model: string, replies: OllamaReply[], more: object = {}) {
  server = await startOllamaServer(() => (replies.length > 1 ? replies.shift() : replies[0]))
  return openAt(server.url, model, more)
}

describe('Ollama embeddings', () => {
  test('sends several texts in one request with key and prefix', async () => {
    const embedder = await open(
      'nomic-embed-text',
      [vectors([1, ...Array(767).fill(0)], [0, 1, ...Array(766).fill(0)])],
      {
        api_key: 'k',
      },
    )
    expect([embedder.dimensions, server?.requests]).toEqual([768, []])
    await embedder.embed(['one', 'two'], 'document')
    expect(server?.requests[0]).toMatchObject({
      path: '/api/embed',
      headers: { authorization: 'Bearer k' },
      body: { model: 'nomic-embed-text', input: ['search_document: one', 'search_document: two'] },
    })
  })

  test('says how to install a missing model', async () => {
    await expect(open('none', [{ status: 404, body: { error: "model 'none' not found" } }])).rejects.toThrow(
      "local-ollama:none: Ollama has no model 'none'. Fetch it: ollama pull none",
    )
  })

  test('says that the server is not running', async () => {
    const gone = await startOllamaServer(() => undefined)
    await gone.stop()
    await expect(openAt(gone.url, 'm')).rejects.toMatchObject({
      message: expect.stringContaining('Ollama is not running. Start it (ollama serve)'),
      retryable: true,
    })
  })

  test.each([
    ['no JSON', 'hello', "The response is not JSON. Check that providers.local-ollama.base_url is Ollama's."],
    ['no vectors', {}, 'The response is not a list of vectors.'],
    ['zeros, as for a text that is too long', { embeddings: [[0, 0]] }, 'Vector 1 has no direction'],
    ['nulls', { embeddings: [[null, 1]] }, 'Vector 1 contains null'],
  ])('rejects a response with %s', async (_name, body, message) => {
    await expect(open('m', [{ status: 200, body }])).rejects.toThrow(`local-ollama:m: ${message}`)
  })

  test('retries while the server loads its model', async () => {
    const embedder = await open('m', [{ status: 503, body: { error: 'loading' } }, vectors([1, 0])])
    expect([embedder.dimensions, server?.requests.length]).toEqual([2, 2])
  })

  test('rejects with the reason of an abort', async () => {
    const started = Promise.withResolvers<void>()
    server = await startOllamaServer(({ body }) => {
      const { input } = body as unknown as { input: string[] }
      if (input[0] !== 'wait') return vectors([1, 0])
      started.resolve()
      return { parts: [' '], ending: 'open' }
    })
    const embedder = await openAt(server.url, 'm')
    const controller = new AbortController()
    const reason = new Error('enough')
    const asking = embedder.embed(['wait'], 'document', controller.signal)
    await started.promise
    controller.abort(reason)
    await expect(asking).rejects.toBe(reason)
    await expect.poll(() => server?.brokenOff()).toBe(1)
  })
})
