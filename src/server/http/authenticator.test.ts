import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { describe, expect, test, vi } from 'vitest'
import { Callers } from '../../app/callers/callers.ts'
import { systemClock } from '../../core/clock.ts'
import { newStoredKey } from '../fixtures/new-stored-key.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'
import { rawRequest } from '../fixtures/raw-request.ts'

const LIST = '/api/tools/list'

describe('a key', () => {
  test('is accepted as a bearer token in any case, and in X-API-Key', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    const key = await server.key('acme')
    const ways = [{ authorization: `Bearer ${key}` }, { authorization: `bearer  ${key}` }, { 'x-api-key': key }]
    for (const headers of ways) {
      expect((await server.get(LIST, headers)).status).toBe(200)
      expect((await server.call('hello', {}, headers)).status).toBe(200)
    }
    const record = { tenant: 'acme', tool: 'hello', source: 'rest' }
    expect(await server.records('acme')).toMatchObject([record, record, record])
  })

  test('is rejected with 401 if it is missing or wrong, on every route', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    await server.key('acme')
    const wrong: Record<string, string>[] = [
      {},
      { authorization: 'Bearer ty_nobody' },
      { 'x-api-key': 'ty_nobody' },
      { authorization: 'Basic dXNlcjpwYXNz' },
      { authorization: 'Bearer ' },
      { authorization: '' },
    ]
    for (const headers of wrong) {
      for (const response of [await server.get(LIST, headers), await server.call('hello', {}, headers)]) {
        expect(response.status).toBe(401)
        expect(response.headers.get('www-authenticate')).toBe('Bearer')
        expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/)
        expect(response.headers.get('x-content-type-options')).toBe('nosniff')
        expect(await response.json()).toMatchObject({ type: 'about:blank', status: 401, error: expect.any(String) })
      }
    }
    expect(await server.records('acme')).toEqual([])
  })

  test('is rejected once it is revoked or expired', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    const admin = { 'x-api-key': await server.key('acme') }
    const make = async (body: object) =>
      (await (await server.post('/api/keys', body, admin)).json()) as { id: string; key: string }
    const past = newStoredKey('acme', 'user', { expires_at: '2020-01-01T00:00:00.000Z' })
    await server.installation.storage.keys.create(past.stored)
    const future = await make({ name: 'future', expires_at: '2999-01-01T00:00:00Z' })
    expect((await server.get(LIST, { 'x-api-key': past.text })).status).toBe(401)
    expect((await server.get(LIST, { 'x-api-key': future.key })).status).toBe(200)
    await fetch(`${server.url}/api/keys/${future.id}`, { method: 'DELETE', headers: admin })
    expect((await server.get(LIST, { 'x-api-key': future.key })).status).toBe(401)
  })

  test('without the scope of a route gets 403, and the sentence names it', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    const headers = { 'x-api-key': await server.key('acme', 'user', ['read']) }
    expect((await server.get(LIST, headers)).status).toBe(200)
    for (const response of [await server.call('hello', {}, headers), await server.get('/audit', headers)]) {
      expect(response.status).toBe(403)
      expect(await response.json()).toMatchObject({ error: expect.stringMatching(/scope '(call|observe)'/) })
    }
  })
})

describe('without keys', () => {
  const LOOPBACK = ['localhost', 'LOCALHOST:80', 'tools.localhost:4747', '127.0.0.1', '127.9.8.7:4747', '[::1]:4747']
  const OTHERS = [
    'example.com',
    'localhost.example.com',
    'notlocalhost',
    '127.0.0.1.example.com',
    '128.0.0.1',
    '127.0.0.256',
    '[::2]',
    '0.0.0.0',
    'localhost:4747:80',
    'localhost@example.com',
  ]

  test('a request whose Host names this machine is of the local admin', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    for (const host of LOOPBACK) {
      const { status } = await rawRequest(`${server.url}/api/keys`, { headers: { host } })
      expect([host, status]).toEqual([host, 200])
    }
  })

  test('rejects a foreign Host header on every path', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    const body = JSON.stringify({ tool_name: 'hello', params: {} })
    const type = { 'content-type': 'application/json' }
    for (const host of OTHERS) {
      for (const path of [LIST, '/health', '/docs', '/openapi.json', '/nothing', '/mcp']) {
        expect([host, path, (await rawRequest(server.url + path, { headers: { host } })).status]).toEqual([
          host,
          path,
          403,
        ])
      }
      const call = await rawRequest(`${server.url}/tools/execute`, { method: 'POST', headers: { host, ...type }, body })
      expect(call).toMatchObject({ status: 403, text: expect.stringContaining('toolyard keys create') })
    }
    expect(await server.records()).toEqual([])
  })

  test('rejects cross-origin requests only', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    const { host, port } = new URL(server.url)
    const ask = async (origin: string) => (await rawRequest(server.url + LIST, { headers: { host, origin } })).status
    expect(await ask(server.url)).toBe(200)
    const others = [
      'https://example.com',
      'null',
      `https://${host}`,
      `http://localhost:${port}`,
      `http://127.0.0.1:${Number(port) + 1}`,
      'http://127.0.0.1',
    ]
    for (const origin of others) expect([origin, await ask(origin)]).toEqual([origin, 403])
  })

  test('whatever is sent for a key counts for nothing: many clients cannot but send some', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    expect((await server.get(LIST, { 'x-api-key': 'ty_nobody' })).status).toBe(200)
    expect((await server.call('hello', {}, { authorization: 'Bearer sk-anything' })).status).toBe(200)
  })

  test('the first key ends that, it is logged, and revoking all keys does not bring it back', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    const made = await server.post('/api/keys', { name: 'first', role: 'admin' })
    const { id, key } = (await made.json()) as { id: string; key: string }
    expect((await server.get(LIST)).status).toBe(401)
    expect((await server.call('hello')).status).toBe(401)
    expect(server.log.lines.filter(({ message }) => message.startsWith('The first API key exists'))).toHaveLength(1)
    const revoked = await fetch(`${server.url}/api/keys/${id}`, { method: 'DELETE', headers: { 'x-api-key': key } })
    expect(revoked.status).toBe(204)
    expect((await server.get(LIST)).status).toBe(401)
  })

  test('the first key also ends that for a request whose body is still being sent', async () => {
    const server = await openToolServer({})
    const body = JSON.stringify({ name: 'second', role: 'admin' })
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    const late = request(`${server.url}/api/keys`, { method: 'POST', headers })
    late.write(body.slice(0, -1))
    await vi.waitFor(() => expect(server.app.traffic.busy).toBe(true))
    await server.key('acme')
    late.end(body.slice(-1))
    const [answer] = (await once(late, 'response')) as [IncomingMessage]
    answer.resume()
    expect(answer.statusCode).toBe(401)
    expect(await server.installation.storage.keys.list()).toHaveLength(1)
  })

  test('a key that existed before the start ends that too', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    await server.key('acme')
    const { storage } = server.installation
    for (const { id } of await storage.keys.list()) await storage.keys.revoke(id, new Date().toISOString())
    const later = new Callers(server.installation.tenants, systemClock)
    await later.load(storage.keys)
    expect(later.keyed).toBe(true)
  })

  test('rejects headers of proxies, and requests that a browser calls cross-site', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    const proxies = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded', 'forwarded', 'via', 'x-real-ip']
    const more = [
      'cf-connecting-ip',
      'true-client-ip',
      'x-client-ip',
      'x-cluster-client-ip',
      'x-envoy-external-address',
    ]
    for (const name of [...proxies, ...more]) {
      for (const path of [LIST, '/health', '/mcp']) {
        const answer = await server.get(path, { [name]: '203.0.113.7' })
        expect([name, path, answer.status]).toEqual([name, path, 403])
        expect(await answer.text()).toContain(name)
      }
    }
    const sites = ['cross-site', 'same-site', 'same-origin', 'none']
    const statuses = sites.map(async (site) => (await server.get(LIST, { 'sec-fetch-site': site })).status)
    expect(await Promise.all(statuses)).toEqual([403, 403, 200, 200])
    // A window that comes back from an OAuth provider.
    const window = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    const callback = '/api/connections/hub/callback?code=1&state=2'
    const from = async (path: string, headers: object) =>
      (await rawRequest(server.url + path, { headers: { ...window, ...headers } })).status
    expect([await from(callback, {}), await from(LIST, {})]).toEqual([302, 403])
    expect(await from(callback, { 'sec-fetch-dest': 'iframe' })).toBe(403)
    expect(await from(callback, { 'sec-fetch-mode': 'no-cors' })).toBe(403)
    const key = { 'x-api-key': await server.key('acme') }
    for (const name of proxies) expect((await server.get(LIST, { ...key, [name]: '203.0.113.7' })).status).toBe(200)
  })

  test('a server that is not local requires a key', async () => {
    const server = await openToolServer({ hello: async () => 1 }, {}, { local: false })
    expect((await server.get(LIST)).status).toBe(401)
    expect((await server.get('/health')).status).toBe(200)
  })
})

test('with keys, any Host and Origin will do, except for MCP', async () => {
  const server = await openToolServer({ hello: async () => 1 }, { server: { hosts: ['tools.example.com'] } })
  const key = { 'x-api-key': await server.key('acme') }
  const ask = async (path: string, headers: Record<string, string>) =>
    (await rawRequest(server.url + path, { headers: { ...key, ...headers } })).status
  const elsewhere = { host: 'other.example.com', origin: 'https://other.example.com' }
  expect(await ask(LIST, elsewhere)).toBe(200)
  expect(await ask('/mcp', elsewhere)).toBe(403)
  expect(await ask('/mcp', { host: 'tools.example.com', origin: 'https://other.example.com' })).toBe(403)
  expect(await ask('/mcp', { host: 'tools.example.com', origin: 'https://tools.example.com' })).not.toBe(403)
})
