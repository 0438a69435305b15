import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { SCOPES } from '../app/callers/callers.ts'
import { systemClock } from '../core/clock.ts'
import { POST_HEADERS } from '../mcp/server/fixtures/http-yard.ts'
import { openTestServer, type TestServer } from './fixtures/open-server.ts'
import { toolConfig } from './fixtures/open-tool-server.ts'
import type { KnownRoute } from './http/hooks.ts'

const DEEP = '['.repeat(1024 * 1024 - 1)
const BODY_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE']

let now = 0
let server: TestServer
let routes: (KnownRoute & { readonly path: string })[]
let key: Record<string, string>
/** Every JSON text of more than 1,000 characters that anything in this process parses. */
const parsed: string[] = []

beforeAll(async () => {
  const { config, handlers } = toolConfig({ hello: async () => 1 })
  server = await openTestServer(config, { handlers, clock: { ...systemClock, now: () => now } })
  key = { 'x-api-key': await server.key('acme', 'admin', SCOPES) }
  routes = server.app.knownRoutes
    .all()
    .filter(({ method }) => BODY_METHODS.includes(method))
    .map((route) => ({ ...route, path: route.url.replaceAll(/:\w+|\*/g, 'x') }))
})
afterAll(() => server.close())

beforeEach(() => {
  // No test meets the limit for requests without a key.
  now += 60_000
  parsed.length = 0
  const parse = JSON.parse
  const spy = vi.spyOn(JSON, 'parse').mockImplementation((text: string, reviver) => {
    if (text.length > 1_000 && text.startsWith('[')) parsed.push(text.slice(0, 20))
    return parse(text, reviver)
  })
  return () => spy.mockRestore()
})

async function send(method: string, path: string, headers: Record<string, string> = {}, body: string | Buffer = DEEP) {
  const answer = await fetch(server.url + path, { method, headers: { ...POST_HEADERS, ...headers }, body })
  return { status: answer.status, text: await answer.text() }
}

describe('1 MB of opening brackets', () => {
  test('is refused by every endpoint with and without a key, and is never parsed', async () => {
    expect(routes.length).toBeGreaterThan(15)
    for (const { method, path, scope } of routes) {
      // Each route has two requests without a valid key.
      now += 1_000
      const [without, wrong, valid] = [
        await send(method, path),
        await send(method, path, { 'x-api-key': 'ty_wrong' }),
        await send(method, path, key),
      ]
      const refused = scope === null ? 413 : 401
      expect([method, path, without.status, wrong.status]).toEqual([method, path, refused, refused])
      // DELETE /mcp doesn't parse its body, and there is no MCP server x.
      const ofMcp = path === '/mcp/x' ? 404 : method === 'DELETE' && path === '/mcp' ? 405 : undefined
      const answered = scope === null ? 413 : (ofMcp ?? 400)
      expect([method, path, valid.status]).toEqual([method, path, answered])
    }
    expect(parsed).toEqual([])
  })

  test('is rejected on unknown paths and methods without being parsed', async () => {
    for (const headers of [{}, key]) {
      expect((await send('POST', '/nothing', headers)).status).toBe(404)
      expect((await send('PUT', '/api/session', headers)).status).toBe(405)
    }
    expect(parsed).toEqual([])
  })

  test('is answered in the format of the endpoint', async () => {
    const error = async (path: string) => {
      const { status, text } = await send('POST', path, key)
      return [status, JSON.parse(text)]
    }
    expect(await error('/tools/execute')).toMatchObject([
      400,
      {
        success: false,
        error: 'Invalid parameters: the body is nested deeper than 72 levels',
        error_code: 'INVALID_PARAMETERS',
      },
    ])
    expect(await error('/mcp')).toEqual([
      400,
      {
        jsonrpc: '2.0',
        error: { code: -32_700, message: 'Parse error: the message is nested deeper than 72 levels' },
        id: null,
      },
    ])
    expect(await error('/v1/chat/completions')).toMatchObject([
      400,
      {
        error: {
          message: 'The body is nested deeper than 72 levels',
          type: 'invalid_request_error',
        },
      },
    ])
    expect(await error('/api/keys')).toMatchObject([
      400,
      { title: 'The body is nested deeper than 72 levels', status: 400 },
    ])
  })
})

test('a body as deep as parameters may be reaches the tool', async () => {
  const params = `${'{"a":'.repeat(63)}{}${'}'.repeat(63)}`
  const body = `{"tool_name":"hello","params":${params}}`
  const headers = { 'content-type': 'application/json', ...key }
  const answer = await fetch(`${server.url}/tools/execute`, { method: 'POST', headers, body })
  expect([answer.status, await answer.json()]).toMatchObject([200, { success: true, result: 1 }])
})

test('every endpoint that needs a key refuses a request without one before its body arrives', async () => {
  for (const { method, path, scope } of [...routes, { method: 'POST', path: '/nothing', scope: undefined }]) {
    if (scope === null) continue
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n`,
    )
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    const status = scope === undefined ? '404 Not Found' : '401 Unauthorized'
    expect([method, path, chunk.toString().split('\r\n')[0]]).toEqual([method, path, `HTTP/1.1 ${status}`])
    // The server discards the late body, and the connection can be used again.
    socket.write('123456789GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    const [next] = (await once(socket, 'data')) as [Buffer]
    expect([method, path, next.toString().split('\r\n')[0]]).toEqual([method, path, 'HTTP/1.1 200 OK'])
    socket.destroy()
  }
})

test('the body of a sign-in may have 1 KB, and the client can always read the refusal', async () => {
  const signIn = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${server.url}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
  const padded = (bytes: number) => `{"key":"ty_x"${' '.repeat(bytes - 14)}}`
  expect([padded(1_024).length, (await signIn(padded(1_024))).status]).toEqual([1_024, 401])
  expect((await signIn(padded(1_025))).status).toBe(413)
  for (let round = 0; round < 10; round++) {
    const answer = await signIn('['.repeat(8 * 1024 * 1024))
    expect([answer.status, await answer.json()]).toMatchObject([413, { status: 413 }])
  }
})

describe('a body that would be changed by reading it', () => {
  test.each([
    ['bytes that are not UTF-8', Buffer.from('{"a":"\xff"}', 'latin1'), 'is not valid UTF-8'],
    ['an integer beyond 2^53', '{"a":[9007199254740993]}', 'has the integer 9007199254740993, which is beyond 2^53'],
  ])('is refused by every endpoint that reads JSON: %s', async (_, body, problem) => {
    const refused = []
    for (const { method, path } of routes) {
      const { status, text } = await send(method, path, key, body)
      if (path === '/mcp/x' || (method === 'DELETE' && path === '/mcp')) continue
      expect([method, path, status, text.includes(problem)]).toEqual([method, path, 400, true])
      refused.push(path)
    }
    expect(refused.length).toBeGreaterThan(15)
  })
})
