import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { never } from '../../../core/fixtures/code-yard.ts'
import { call, httpYard, INITIALIZE, POST_HEADERS, statelessMessage, until } from '../fixtures/http-yard.ts'

/** The status of a request whose headers `fetch` would not let us write. */
const statusOf = (url: string, headers: Record<string, string>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers: { ...POST_HEADERS, ...headers } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(INITIALIZE))
  })

describe('access', () => {
  test.each([
    ['a name of the local machine', { host: 'localhost:1234' }, 200],
    ['its address', { host: '[::1]:9', origin: 'http://127.0.0.1:8080' }, 200],
    ['the name of a web site', { host: 'evil.example' }, 403],
    ['a page of a web site', { origin: 'https://evil.example' }, 403],
    ['a page without a name', { origin: 'null' }, 403],
  ])('%s', async (_who, headers, status) => {
    const { service } = await httpYard()
    expect(await statusOf(service.url, headers)).toBe(status)
  })

  test('names that were allowed', async () => {
    const { service } = await httpYard({}, { hosts: ['tools.example'] })
    expect(await statusOf(service.url, { host: 'tools.example:443' })).toBe(200)
  })
})

describe('messages that are none', () => {
  test('a batch of too many is refused before its messages are checked', async () => {
    const { post } = await httpYard()
    const { status, text } = await post(`[${new Array(101).fill('{"jsonrpc":"2.0","method":"x"}')}]`)
    expect(status).toBe(400)
    expect(text).toContain('a batch has at most 100 messages')
  })

  test('one with more members than the SDK should check is refused, also in a batch', async () => {
    const { post } = await httpYard()
    const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, {}]))
    const client = { clientInfo: { name: 'x', version: '1' }, capabilities: { experimental: members(1_001) } }
    const params = { protocolVersion: '2025-06-18', ...client }
    const crowded = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }))
    expect(crowded).toMatchObject({ status: 413, text: expect.stringContaining('more than 1000 entries') })
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: members(6_000) } }
    expect(await post(JSON.stringify([call, call]))).toMatchObject({ status: 413 })
  })

  test.each([
    ['no JSON', '{', {}, 400, -32700],
    ['no message', '{"hello":1}', {}, 400, -32600],
    ['another type', '{}', { 'content-type': 'text/plain' }, 415, -32000],
    ['too large', `"${'x'.repeat(4 * 1024 * 1024)}"`, {}, 413, -32000],
  ])('%s', async (_what, body, headers, status, code) => {
    const { post } = await httpYard()
    const answer = await post(body, headers as Record<string, string>)
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code } })
  })

  test.each([
    ['by what it says of itself, before it is sent', { 'content-length': String(5 * 1024 * 1024) }, 0],
    ['by what comes, where it says nothing', { 'transfer-encoding': 'chunked' }, 5],
  ])('too large, %s', async (_how, headers, megabytes) => {
    const { service } = await httpYard()
    const sent = request(service.url, { method: 'POST', headers: { ...POST_HEADERS, ...headers } })
    const answered = new Promise<number | undefined>((resolve) => sent.on('response', (got) => resolve(got.statusCode)))
    sent.on('error', () => {})
    sent.flushHeaders()
    for (let megabyte = 0; megabyte < megabytes; megabyte++) sent.write('x'.repeat(1024 * 1024))
    expect(await answered).toBe(413)
    sent.destroy()
  })

  test('a cursor that is none', async () => {
    const { post } = await httpYard()
    const { text } = await post({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { cursor: 'nonsense' } })
    expect(eventData(text)).toMatchObject({ id: 1, error: { code: -32602 } })
  })
})

/** The message in a stream of one event. */
const eventData = (text: string): unknown => JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? 'null')

describe('answers', () => {
  test('a call without session or envelope is answered as well', async () => {
    const { post, add } = await httpYard()
    add('word', async () => 'hello')
    const { status, headers, text } = await post(call('word', 'x'))
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect(eventData(text)).toEqual({ jsonrpc: '2.0', id: 'x', result: { content: [{ type: 'text', text: 'hello' }] } })
  })

  test('parameters that must be in a header are looked for there', async () => {
    const { post, add } = await httpYard()
    const region = { type: 'string', 'x-mcp-header': 'Region' }
    add('where', async () => 'here', { parameters: { type: 'object', properties: { region } } })
    const { message, headers } = statelessMessage('tools/call', { name: 'where', arguments: { region: 'eu' } })
    expect((await post(message, headers)).status).toBe(400)
    expect((await post(message, { ...headers, 'mcp-param-region': 'eu' })).status).toBe(200)
  })

  test.each([
    ['version', { 'mcp-protocol-version': '2025-11-25' }],
    ['method', { 'mcp-method': 'tools/list' }],
    ['name', { 'mcp-name': 'other' }],
  ])('a header that contradicts the message is refused: %s', async (_what, wrong) => {
    const { post, add } = await httpYard()
    add('word', async () => 'hello')
    const { message, headers } = statelessMessage('tools/call', { name: 'word' })
    const { status, text } = await post(message, { ...headers, ...wrong })
    expect([status, JSON.parse(text).error.code]).toEqual([400, -32020])
  })

  test('an envelope that is wrong is refused, also after a right one', async () => {
    const { post, add } = await httpYard()
    add('word', async () => 'hello')
    const right = statelessMessage('tools/call', { name: 'word' })
    const wrong = statelessMessage('tools/call', { name: 'word' }, { 'io.modelcontextprotocol/clientCapabilities': 7 })
    expect((await post(right.message, right.headers)).status).toBe(200)
    expect((await post(wrong.message, wrong.headers)).status).toBe(400)
  })

  test('cancels the call of a client without a session that disconnects', async () => {
    const { service, add } = await httpYard()
    let told: AbortSignal | undefined
    add('forever', (_params, { signal }) => {
      told = signal
      return never()
    })
    const { message, headers } = statelessMessage('tools/call', { name: 'forever', arguments: {} })
    const abort = new AbortController()
    const init = { method: 'POST', headers: { ...POST_HEADERS, ...headers }, body: JSON.stringify(message) }
    const sent = fetch(service.url, { ...init, signal: abort.signal }).catch(() => {})
    await until(() => told !== undefined)
    abort.abort()
    await until(() => told?.aborted === true)
    await sent
  })
})
