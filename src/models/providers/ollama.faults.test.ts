import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { scriptedTools } from '../../testing/model-script.ts'
import type { OllamaReply } from '../fixtures/ollama-server.ts'
import { askOllama as ask, done, part, parts, wireAt, wireTo } from '../fixtures/ollama-wire.ts'
import { ModelError } from '../model-error.ts'
import type { Wire, WireRequest } from '../provider.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

async function failure(wire: Wire, request: Partial<WireRequest> = {}): Promise<ModelError> {
  const error = await ask(wire, request).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(ModelError)
  return error as ModelError
}

describe('failures of Ollama', () => {
  test('a model that is not there: how to fetch it', async () => {
    const { wire } = await wireTo({ status: 404, body: { error: "model 'qwen3' not found" } })
    const error = await failure(wire)
    expect(error.message).toBe("Ollama has no model 'qwen3'. Fetch it: ollama pull qwen3")
    expect(error).toMatchObject({ status: 404, retryable: false })
  })

  test('a server that is not Ollama', async () => {
    const { wire } = await wireTo({ status: 404, body: '<html>not found</html>' })
    expect((await failure(wire)).message).toMatch(
      /^The server is not Ollama \(404\)\. Check providers\.local\.base_url/,
    )
  })

  test('a model without tools: that, and what to do', async () => {
    const { wire } = await wireTo(({ path }) =>
      path === '/api/show'
        ? { status: 200, body: { capabilities: ['completion'] } }
        : { status: 400, body: { error: 'registry.ollama.ai/library/qwen3:latest does not support tools' } },
    )
    const error = await failure(wire, { tools: scriptedTools })
    expect(error.message).toBe(
      'Model \'qwen3\' does not support tools. Offer none, or use a model for which "ollama show" lists tools.',
    )
    expect(error).toMatchObject({ status: 400, retryable: false })
  })

  test('another 400 of a model with tools stays what it is', async () => {
    const { wire } = await wireTo(({ path }) =>
      path === '/api/show'
        ? { status: 200, body: { capabilities: ['completion', 'tools'] } }
        : { status: 400, body: { error: 'invalid options: num_ctx' } },
    )
    expect((await failure(wire, { tools: scriptedTools })).message).toContain('invalid options: num_ctx')
  })

  test('429 and 5xx may be tried again, after the time the server names', async () => {
    const busy = await wireTo({ status: 503, body: { error: 'server busy' }, headers: { 'retry-after': '2' } })
    expect(await failure(busy.wire)).toMatchObject({ status: 503, retryable: true, retryAfterMs: 2000 })
    const limited = await wireTo({ status: 429, body: { error: 'slow down' } })
    expect(await failure(limited.wire)).toMatchObject({ status: 429, retryable: true, retryAfterMs: undefined })
  })

  test('no address, no key, nothing on stdout, whatever the server says', async () => {
    const output = [vi.spyOn(console, 'log'), vi.spyOn(console, 'warn'), vi.spyOn(console, 'error')]
    const said =
      'do completion request: Post "http://127.0.0.1:35783/completion": dial tcp [::1]:35783 localhost:35783 k-12345'
    for (const reply of [
      { status: 500, body: { error: said } },
      { status: 500, body: said },
      parts(part({ content: 'It is' }), { error: said }),
      parts(part({ content: 'It is' }), said),
    ] satisfies OllamaReply[]) {
      const { wire } = await wireTo(reply, { api_key: 'k-12345' })
      expect((await failure(wire)).message).not.toMatch(/35783|127\.0|::1|k-12345/)
    }
    for (const one of output) expect(one).not.toHaveBeenCalled()
  })

  test('Ollama that is not running: that, and how to start it', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const error = await failure(await wireAt(`http://127.0.0.1:${port}`))
    expect(error.message).toBe('Ollama is not running. Start it (ollama serve), or set providers.local.base_url.')
    expect(error.retryable).toBe(true)
  })

  test.each<[string, OllamaReply, RegExp]>([
    ['an error in mid-stream', parts(part({ content: 'It' }), { error: 'runner died' }), /failed.*runner died/],
    ['a stream without done', parts(part({ content: 'It is' })), /ended before it was complete/],
    ['an empty body', parts(), /ended before it was complete/],
    ['half a line', parts(part({ content: 'It' }), '{"message":{"con'), /is not JSON/],
    ['garbage', parts('<html>\n', done()), /is not JSON/],
    ['a cut connection', { parts: [part({ content: 'It is' })], ending: 'cut' }, /connection to Ollama failed/],
  ])('%s is a ModelError', async (_name, reply, message) => {
    const { wire } = await wireTo(reply)
    expect((await failure(wire)).message).toMatch(message)
  })

  test('a redirect is not followed, so that no key goes elsewhere', async () => {
    const { wire, server } = await wireTo(({ path }) =>
      path === '/api/chat' ? { status: 307, body: '', headers: { location: '/elsewhere' } } : parts(done()),
    )
    expect((await failure(wire)).message).toMatch(/^The provider redirects to another address/)
    expect(server.requests.map(({ path }) => path)).toEqual(['/api/chat'])
  })

  test('an abort while Ollama is silent throws the reason and closes the connection', async () => {
    const { wire, server } = await wireTo({ parts: [part({ content: 'It is' })], ending: 'open' })
    const controller = new AbortController()
    const reason = new Error('enough')
    const asked = ask(wire, { signal: controller.signal })
    const refused = expect(asked).rejects.toBe(reason)
    await vi.waitFor(() => expect(server.requests).toHaveLength(1))
    controller.abort(reason)
    await refused
    await vi.waitFor(() => expect(server.brokenOff()).toBe(1))
  })
})
