import { describe, expect, test } from 'vitest'
import { openToolServer } from '../fixtures/open-tool-server.ts'
import { rawRequest } from '../fixtures/raw-request.ts'

const LIST = '/api/tools/list'
const JSON_TYPE = { 'content-type': 'application/json' }

/** A server with a key, and the cookie that signing in with it gives. */
async function openSignedIn() {
  const server = await openToolServer({ hello: async () => 1 }, {}, { local: false })
  const key = await server.key('acme')
  const answer = await server.post('/api/session', { key: ` ${key} ` })
  const given = String(answer.headers.get('set-cookie'))
  return { ...server, key, answer, given, cookie: given.split(';', 1)[0] as string }
}

describe('signing in', () => {
  test('sets an HttpOnly, SameSite cookie and returns the caller', async () => {
    const { answer, given, key } = await openSignedIn()
    expect(await answer.json()).toMatchObject({
      state: 'signed_in',
      tenant: 'acme',
      role: 'admin',
      scopes: expect.arrayContaining(['read', 'call']),
      version: '1.2.3',
    })
    expect(given).toBe(`toolyard_key=${key}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict`)
  })

  test('over https, the cookie is for https only', async () => {
    const server = await openToolServer({}, {}, { local: false })
    const body = JSON.stringify({ key: await server.key('acme') })
    const headers = { ...JSON_TYPE, host: 'tools.example.com', origin: 'https://tools.example.com' }
    const answer = await rawRequest(`${server.url}/api/session`, { method: 'POST', headers, body })
    expect(String(answer.headers['set-cookie'])).toMatch(/; Secure$/)
  })

  test('with a key that is none is refused with 401, and without one with 400', async () => {
    const server = await openToolServer({}, {}, { local: false })
    await server.key('acme')
    const wrong = await server.post('/api/session', { key: 'ty_wrong' })
    expect([wrong.status, wrong.headers.get('set-cookie')]).toEqual([401, null])
    expect((await server.post('/api/session', {})).status).toBe(400)
  })

  test('is refused to pages of other origins', async () => {
    const { url, key } = await openSignedIn()
    const body = JSON.stringify({ key })
    for (const origin of ['https://example.com', 'null', 'http://127.0.0.1:1']) {
      const headers = { ...JSON_TYPE, origin }
      const answer = await rawRequest(`${url}/api/session`, { method: 'POST', headers, body })
      expect([origin, answer.status, answer.headers['set-cookie']]).toEqual([origin, 403, undefined])
    }
  })

  test('is not needed without keys, and sets no cookie', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    expect(await (await server.get('/api/session')).json()).toMatchObject({ state: 'local', role: 'admin' })
    const answer = await server.post('/api/session', { key: 'ty_anything' })
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([200, null])
  })
})

describe('a cookie', () => {
  test('is accepted from the web UI on every route', async () => {
    const { url, get, call, cookie, records } = await openSignedIn()
    const own = [
      { cookie },
      { cookie, origin: url },
      { cookie, 'sec-fetch-site': 'same-origin' },
      { cookie: `other=1; ${cookie}; more=2`, 'sec-fetch-site': 'none' },
    ]
    for (const headers of own) {
      expect((await get(LIST, headers)).status).toBe(200)
      expect((await call('hello', {}, headers)).status).toBe(200)
    }
    expect(await records('acme')).toHaveLength(own.length)
    expect(await (await get('/api/session', { cookie })).json()).toMatchObject({ state: 'signed_in' })
  })

  test('is rejected from other pages, also on the same machine', async () => {
    const { url, cookie, records } = await openSignedIn()
    const others: Record<string, string>[] = [
      { origin: 'https://example.com' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:1' },
      { origin: url.replace('127.0.0.1', 'localhost') },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://example.com', 'sec-fetch-site': 'same-origin' },
    ]
    const body = JSON.stringify({ tool_name: 'hello', params: {} })
    for (const other of others) {
      const headers = { cookie, ...other }
      expect([other, (await rawRequest(url + LIST, { headers })).status]).toEqual([other, 403])
      const post = { method: 'POST', headers: { ...headers, ...JSON_TYPE }, body }
      expect([other, (await rawRequest(`${url}/tools/execute`, post)).status]).toEqual([other, 403])
    }
    expect(await records('acme')).toEqual([])
  })

  test('gives way to a key in a header', async () => {
    const { get, cookie } = await openSignedIn()
    expect((await get(LIST, { cookie, 'x-api-key': 'ty_wrong' })).status).toBe(401)
    expect((await get(LIST, { cookie, authorization: 'Bearer ty_wrong' })).status).toBe(401)
  })

  test('ends when its key is revoked', async () => {
    const { get, cookie, installation } = await openSignedIn()
    const { keys } = installation.storage
    for (const { id } of await keys.list()) await keys.revoke(id, new Date().toISOString())
    await installation.callers.load(keys)
    expect((await get(LIST, { cookie })).status).toBe(401)
    expect(await (await get('/api/session', { cookie })).json()).toMatchObject({ state: 'signed_out', scopes: [] })
  })

  test('ends on sign-out', async () => {
    const { url, cookie } = await openSignedIn()
    const out = await fetch(`${url}/api/session`, { method: 'DELETE', headers: { cookie } })
    expect(out.status).toBe(204)
    expect(out.headers.get('set-cookie')).toMatch(/^toolyard_key=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict$/)
  })
})
