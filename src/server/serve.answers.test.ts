import { connect, type Socket } from 'node:net'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { dial } from './fixtures/dial.ts'
import { openToolServer } from './fixtures/open-tool-server.ts'
import { rawRequest } from './fixtures/raw-request.ts'

const SECURITY = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

describe('every answer', () => {
  test('has the security headers, and does not name the framework', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    const type = { 'content-type': 'application/json' }
    const answers = [
      await rawRequest(`${server.url}/api/tools/list`),
      await rawRequest(`${server.url}/nothing`),
      await rawRequest(`${server.url}/audit?limit=x`),
      await rawRequest(`${server.url}/tools/execute`, { method: 'POST', headers: type, body: '{' }),
      await rawRequest(`${server.url}/tools/execute`, { method: 'POST', headers: { authorization: 'x' } }),
    ]
    for (const { headers } of answers) {
      expect(headers).toMatchObject(SECURITY)
      expect(headers).not.toHaveProperty('x-powered-by')
      expect(headers).not.toHaveProperty('server')
      expect(headers).not.toHaveProperty('access-control-allow-origin')
    }
  })

  test('to an unknown path is 404, and to a method that it does not take 405, as problem+json', async () => {
    const server = await openToolServer({}, {}, { local: false })
    const ask = async (method: string, path: string) => {
      const { status, headers, text } = await rawRequest(server.url + path, { method })
      expect(headers['content-type']).toMatch(/^application\/problem\+json/)
      expect(JSON.parse(text)).toMatchObject({ type: 'about:blank', status, title: expect.any(String) })
      return [status, headers.allow]
    }
    expect(await ask('GET', '/nothing')).toEqual([404, undefined])
    expect(await ask('POST', '/api/jobs/7/8')).toEqual([404, undefined])
    expect(await ask('GET', '/%E0%A4%A')).toEqual([400, undefined])
    expect(await ask('GET', '/guide/%00')).toEqual([400, undefined])
    expect(await ask('GET', '/tools/execute')).toEqual([405, 'POST'])
    expect(await ask('PUT', '/api/keys/7')).toEqual([405, 'DELETE, PATCH'])
    expect(await ask('DELETE', '/health')).toEqual([405, 'GET, HEAD'])
    expect(await ask('OPTIONS', '/api/tools/list')).toEqual([405, 'GET'])
  })

  test('to a body that cannot be read is 400, 413 or 415, as problem+json', async () => {
    const server = await openToolServer({}, { limits: { body_bytes: 1_024 } })
    const ask = async (body: string, headers: Record<string, string> = {}) => {
      const response = await server.post('/api/keys', body, headers)
      expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/)
      const problem = (await response.json()) as { error: string }
      expect(problem.error).toMatch(/\w/)
      return response.status
    }
    expect(await ask('{')).toBe(400)
    expect(await ask('')).toBe(400)
    expect(await ask('{"__proto__":{}}')).toBe(400)
    expect(await ask(JSON.stringify({ name: 'x'.repeat(2_000) }))).toBe(413)
    expect(await ask('name=x', { 'content-type': 'text/plain' })).toBe(415)
  })

  test('to an unexpected error is 500 without details; the log has the same request_id', async () => {
    const server = await openToolServer({})
    // One of some library's, with a status of its own, is no more meant for clients than any other.
    for (const more of [{}, { statusCode: 418, code: 'E_OTHER' }]) {
      server.installation.storage.keys.list = async () => {
        throw Object.assign(new Error('password=hunter2 at db.internal:5432'), more)
      }
      const response = await server.get('/api/keys')
      const text = await response.text()
      expect(response.status).toBe(500)
      expect(text).not.toMatch(/hunter2|internal|stack|\.ts/)
      const { error } = JSON.parse(text) as { error: string }
      expect(error).toMatch(/^Internal server error/)
      const line = server.log.lines.findLast(({ message }) => message === 'Request failed')
      expect(line?.fields).toMatchObject({ method: 'GET', path: '/api/keys', err: expect.any(Error) })
      expect(error).toContain(String(line?.fields.request_id))
    }
  })
})

test('a client that disconnects in the middle of a body is not logged as an error', async () => {
  const server = await openToolServer({ hello: async () => 1 })
  for (const path of ['/tools/execute', '/api/keys']) {
    // Not `once`, which rejects if the server's answer comes after the client has gone.
    const closed = new Promise<void>((resolve) => {
      server.app.server.once('connection', (socket: Socket) => socket.on('close', () => resolve()))
    })
    const client = connect(Number(new URL(server.url).port), '127.0.0.1')
    const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
    client.write(`${head}Content-Length: 100\r\n\r\n{"tool_name":`, () => client.destroy())
    await closed
  }
  await vi.waitFor(() => expect(server.app.traffic.busy).toBe(false))
  expect(server.log.lines.filter(({ level }) => level === 'error')).toEqual([])
})

describe('pages of other origins', () => {
  const ORIGIN = 'https://app.example.com'
  const ask = (url: string, origin: string, init: Parameters<typeof rawRequest>[1] = {}) =>
    rawRequest(url, { ...init, headers: { origin, ...init.headers } })
  const preflight = (url: string, origin: string) =>
    ask(url, origin, { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } })

  test('may read nothing unless the configuration names them', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    const key = { 'x-api-key': await server.key('acme') }
    expect((await preflight(`${server.url}/tools/execute`, ORIGIN)).status).toBe(405)
    const answer = await ask(`${server.url}/api/tools/list`, ORIGIN, { headers: key })
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
  })

  test('learn that there is no sign-in, under any host name', async () => {
    const server = await openToolServer({})
    await server.key('acme')
    const headers = { host: 'tools.example.com' }
    for (const path of ['/.well-known/oauth-protected-resource/mcp', '/api/session/oidc']) {
      expect((await rawRequest(server.url + path, { headers })).status).toBe(404)
    }
  })

  test('may read responses if it is an allowed origin', async () => {
    const server = await openToolServer({ hello: async () => 1 }, { server: { cors_origins: [ORIGIN] } })
    const headers = { 'x-api-key': await server.key('acme'), 'content-type': 'application/json' }
    const asked = await preflight(`${server.url}/tools/execute`, ORIGIN)
    expect(asked.status).toBe(204)
    expect(asked.headers).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': expect.stringContaining('POST'),
      'access-control-allow-headers': expect.stringMatching(/Authorization.*Idempotency-Key/),
      vary: 'Origin',
    })
    const body = JSON.stringify({ tool_name: 'hello', params: {} })
    const answers = [
      await ask(`${server.url}/tools/execute`, ORIGIN, { method: 'POST', headers, body }),
      await ask(`${server.url}/api/tools/list`, ORIGIN, { headers }),
      await ask(`${server.url}/tools/execute`, ORIGIN, { method: 'POST', body }),
      await ask(`${server.url}/tools/execute`, ORIGIN, {
        method: 'POST',
        headers: { ...headers, accept: 'text/event-stream' },
        body,
      }),
      await ask(`${server.url}/nothing`, ORIGIN),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 401, 200, 404])
    for (const answer of answers) {
      expect(answer.headers).toMatchObject({ 'access-control-allow-origin': ORIGIN, vary: 'Origin' })
      expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
    }
    for (const other of ['https://app.example.com.evil.com', 'http://app.example.com', 'null']) {
      expect((await preflight(`${server.url}/tools/execute`, other)).status).toBe(405)
      const answer = await ask(`${server.url}/api/tools/list`, other, { headers })
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
    }
  })

  test.each(['legacy', 'auto'] as const)('may be MCP clients if they are allowed origins: %s', async (mode) => {
    const server = await openToolServer({ hello: async () => 'hi' }, { server: { cors_origins: [ORIGIN] } })
    const key = { authorization: `Bearer ${await server.key('acme')}` }
    const connect = async (origin: string) => {
      const client = new Client({ name: 'page', version: '1' }, { versionNegotiation: { mode } })
      const options = { fetch: pageFetch(origin), requestInit: { headers: key } }
      await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), options))
      onTestFinished(() => client.close())
      return client
    }
    const client = await connect(ORIGIN)
    expect(await client.callTool({ name: 'hello' })).toMatchObject({ content: [{ text: 'hi' }] })
    await expect(connect('https://evil.example')).rejects.toThrow('blocked by CORS')
    // A page can't be an allowed origin by its host alone.
    const foreign = { method: 'POST', headers: { ...key, 'content-type': 'application/json' }, body: '{}' }
    for (const origin of ['http://app.example.com', 'https://app.example.com:8443', 'https://evil.example']) {
      expect((await ask(`${server.url}/mcp`, origin, foreign)).status).toBe(403)
    }
    const names = 'mcp-param-town, mcp-param-, x-other'
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': names }
    const { headers } = await ask(`${server.url}/mcp`, ORIGIN, { method: 'OPTIONS', headers: asked })
    expect(headers['access-control-allow-headers']).toMatch(/Last-Event-ID, mcp-param-town$/)
  })
})

const SAFE_REQUEST_HEADERS = /^(?:accept|accept-language|content-language)$/
const SAFE_RESPONSE_HEADERS = ['cache-control', 'content-language', 'content-length', 'content-type', 'expires']

/** `fetch` of a page in a browser: it asks before a request, and hides headers that the server doesn't expose. */
function pageFetch(origin: string): typeof fetch {
  const namesIn = (text: string | null) => (text ?? '').toLowerCase().split(/ *, */)
  const check = (isAllowed: boolean) => {
    if (!isAllowed) throw new TypeError('blocked by CORS')
  }
  return async (url, init = {}) => {
    const sent = new Headers(init.headers)
    const needed = [...sent.keys()].filter((name) => !SAFE_REQUEST_HEADERS.test(name))
    const asked = { 'access-control-request-method': init.method ?? 'GET' }
    const headers = { origin, ...asked, 'access-control-request-headers': needed.join(',') }
    const { headers: allowed } = await fetch(url, { method: 'OPTIONS', headers })
    check(allowed.get('access-control-allow-origin') === origin)
    const names = namesIn(allowed.get('access-control-allow-headers'))
    check(needed.every((name) => names.includes(name)))
    sent.set('origin', origin)
    const answer = await fetch(url, { ...init, headers: sent })
    check(answer.headers.get('access-control-allow-origin') === origin)
    const shown = new Set([...SAFE_RESPONSE_HEADERS, ...namesIn(answer.headers.get('access-control-expose-headers'))])
    return new Response(answer.body, {
      status: answer.status,
      headers: [...answer.headers].filter(([name]) => shown.has(name)),
    })
  }
}

describe('clients that take too long', () => {
  test('have 10 s for headers, 60 s for a request and 30 s to read a response', async () => {
    const { app } = await openToolServer({})
    expect(app.server).toMatchObject({ headersTimeout: 10_000, requestTimeout: 60_000, maxConnections: 10_000 })
  })

  test('are disconnected if their headers do not end', async () => {
    const server = await openToolServer({})
    server.app.server.headersTimeout = 100
    const answer = await dial(server.url, 'GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ')
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toContain('application/problem+json')
  })

  test('are disconnected if their body does not end', async () => {
    const server = await openToolServer({})
    server.app.server.headersTimeout = 100
    server.app.server.requestTimeout = 100
    const head = 'POST /tools/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
    const answer = await dial(server.url, `${head}Content-Length: 100\r\n\r\n{"tool_name":`)
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(await server.records()).toEqual([])
  })

  test('get an error for an invalid or too large request', async () => {
    const server = await openToolServer({})
    expect(await dial(server.url, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
    const large = `GET /health HTTP/1.1\r\nHost: localhost\r\nX-Large: ${'x'.repeat(40_000)}\r\n\r\n`
    const answer = await dial(server.url, large)
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
    expect(answer).toContain('nosniff')
  })
})
