import { hash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { Config } from '../../config/config.ts'
import { systemClock } from '../../core/clock.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'
import { rawRequest } from '../fixtures/raw-request.ts'

const LIST = '/api/tools/list'
const JSON_TYPE = { 'content-type': 'application/json' }

const HOUR_MS = 3_600_000

/** A server with a key, and the cookie that signing in with it gives. `pass` lets time pass. */
async function openSignedIn(config: Config = {}) {
  const times: { passed: number; stopped?: number } = { passed: 0 }
  const clock = {
    ...systemClock,
    now: () => times.stopped ?? systemClock.now(),
    wall: () => systemClock.wall() + times.passed,
  }
  const server = await openToolServer({ hello: async () => 1 }, config, { local: false, clock })
  const key = await server.key('acme')
  const signIn = async () => String((await server.post('/api/session', { key: ` ${key} ` })).headers.get('set-cookie'))
  const answer = await server.post('/api/session', { key: ` ${key} ` })
  const given = String(answer.headers.get('set-cookie'))
  return {
    ...server,
    key,
    answer,
    given,
    cookie: pairOf(given),
    signIn: async () => pairOf(await signIn()),
    pass: (hours: number) => {
      times.passed += hours * HOUR_MS
    },
    /** Limits of requests a second then hold on a slow machine, too. */
    stopClock: () => {
      times.stopped = systemClock.now()
    },
    status: async (cookie: string) => (await server.get(LIST, { cookie })).status,
    sessions: () => rowsOf(server.folder),
  }
}

const pairOf = (setCookie: string): string => setCookie.split(';', 1)[0] as string

/** The stored sessions, as another program reads them. */
function rowsOf(folder: string): Record<string, unknown>[] {
  const database = new DatabaseSync(join(folder, 'toolyard.db'), { readOnly: true })
  try {
    return database.prepare('SELECT * FROM sessions').all()
  } finally {
    database.close()
  }
}

describe('signing in', () => {
  test('sets an HttpOnly, SameSite cookie and returns the caller', async () => {
    const { answer, given, key, sessions, installation } = await openSignedIn()
    expect(await answer.json()).toMatchObject({
      state: 'signed_in',
      tenant: 'acme',
      role: 'admin',
      scopes: expect.arrayContaining(['read', 'call']),
      version: '1.2.3',
    })
    const pattern = /^toolyard_session=([\w-]{43}); Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict$/
    const id = pattern.exec(given)?.[1] as string
    const [stored] = await installation.storage.keys.list()
    const session = { hash: hash('sha256', id), caller: stored?.id, expires_at: expect.any(Number) }
    expect(sessions()).toEqual([{ ...session, ends_at: expect.any(Number) }])
    for (const secret of [id, key]) expect(JSON.stringify(sessions())).not.toContain(secret)
  })

  test('over https, the cookie is for https and this host only, and the plain one is refused', async () => {
    const server = await openSignedIn({ server: { trusted_proxies: ['127.0.0.1'] } })
    const body = JSON.stringify({ key: server.key })
    const proxied = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' }
    const page = { host: 'tools.example.com', origin: 'https://tools.example.com' }
    for (const headers of [page, proxied]) {
      const post = { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body }
      const answer = await rawRequest(`${server.url}/api/session`, post)
      const given = String(answer.headers['set-cookie'])
      expect(given).toMatch(/^__Host-toolyard_session=.*; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
      expect((await server.get(LIST, { cookie: `${server.cookie}x; ${pairOf(given)}`, ...proxied })).status).toBe(200)
    }
    expect((await server.get(LIST, { cookie: server.cookie, ...proxied })).status).toBe(401)
  })

  test('believes X-Forwarded-Proto from trusted proxies only', async () => {
    const { get, cookie } = await openSignedIn()
    expect((await get(LIST, { cookie, 'x-forwarded-proto': 'https' })).status).toBe(200)
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
      expect(answer.text).toContain('a proxy must pass Host on')
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

  test('gives access to no one as a key, and a key in a cookie neither', async () => {
    const { get, cookie, key } = await openSignedIn()
    const id = cookie.split('=')[1] as string
    expect((await get(LIST, { authorization: `Bearer ${id}` })).status).toBe(401)
    for (const name of ['toolyard_key', 'toolyard_session', '__Host-toolyard_session']) {
      expect((await get(LIST, { cookie: `${name}=${key}` })).status).toBe(401)
    }
  })

  test('ends when its key is revoked', async () => {
    const { get, cookie, installation, status, sessions } = await openSignedIn()
    const { keys } = installation.storage
    for (const { id } of await keys.list()) await keys.revoke(id, new Date().toISOString())
    await installation.callers.load(keys)
    expect(await status(cookie)).toBe(401)
    expect(sessions()).toEqual([])
    expect(await (await get('/api/session', { cookie })).json()).toMatchObject({ state: 'signed_out', scopes: [] })
  })

  test('ends when its key expires', async () => {
    const { url, post, get, key, pass } = await openSignedIn()
    const expires_at = new Date(Date.now() + HOUR_MS).toISOString()
    const made = await post('/api/keys', { name: 'short', expires_at }, { 'x-api-key': key })
    const short = ((await made.json()) as { key: string }).key
    const cookie = pairOf(String((await post('/api/session', { key: short })).headers.get('set-cookie')))
    expect((await get(LIST, { cookie, origin: url })).status).toBe(200)
    pass(1.1)
    expect((await get(LIST, { cookie, origin: url })).status).toBe(401)
  })

  test('ends on sign-out, on the server too', async () => {
    const { url, cookie, status, sessions } = await openSignedIn()
    const out = await fetch(`${url}/api/session`, { method: 'DELETE', headers: { cookie } })
    expect(out.status).toBe(204)
    expect(out.headers.get('set-cookie')).toMatch(/^toolyard_session=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict$/)
    expect(await status(cookie)).toBe(401)
    expect(sessions()).toEqual([])
  })

  test('ends after 12 hours without a request', async () => {
    const { cookie, pass, status } = await openSignedIn()
    pass(11)
    expect(await status(cookie)).toBe(200)
    pass(11)
    expect(await status(cookie)).toBe(200)
    pass(12)
    expect(await status(cookie)).toBe(401)
  })

  test('ends after 7 days, however it is used', async () => {
    const { cookie, pass, status } = await openSignedIn()
    const answers: number[] = []
    for (let hour = 0; hour < 170; hour += 10) {
      answers.push(await status(cookie))
      pass(10)
    }
    expect(answers).toEqual([...Array(17).fill(200)])
    expect(await status(cookie)).toBe(401)
  })

  test('is written at most once a minute', async () => {
    const { cookie, pass, status, sessions } = await openSignedIn()
    const before = sessions()
    pass(0.9 / 60)
    await status(cookie)
    expect(sessions()).toEqual(before)
    pass(0.2 / 60)
    await status(cookie)
    expect(sessions()[0]?.expires_at).toBeGreaterThan(before[0]?.expires_at as number)
  })

  test('is one of at most 100 per key: the one used longest ago ends', async () => {
    const { cookie, pass, status, signIn, sessions, installation } = await openSignedIn()
    const [{ id: caller } = { id: '' }] = await installation.storage.keys.list()
    pass(0.1)
    for (let index = 0; index < 98; index++) {
      const expires_at = installation.clock.wall() + 12 * HOUR_MS
      await installation.storage.sessions.start({ hash: `${index}`, caller, expires_at, ends_at: expires_at }, 100)
    }
    const last = await signIn()
    expect([sessions().length, await status(cookie)]).toEqual([100, 200])
    pass(0.1)
    expect([await status(last), await status(cookie)]).toEqual([200, 200])
    await signIn()
    expect([sessions().length, await status(last), await status(cookie)]).toEqual([100, 200, 200])
  })

  test('that is not known is looked up only as long as its address may send more', async () => {
    const { cookie, status, get, stopClock } = await openSignedIn()
    expect(await status(cookie)).toBe(200)
    stopClock()
    const answers: number[] = []
    for (let index = 0; index < 120; index++) answers.push(await status(`toolyard_session=${'a'.repeat(43)}`))
    expect(new Set(answers)).toEqual(new Set([401, 429]))
    expect((await get(LIST, { cookie })).status).toBe(200)
  })
})
