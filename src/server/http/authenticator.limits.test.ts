import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkConfig } from '../../config/check-config.ts'
import { systemClock } from '../../core/clock.ts'
import { openTestServer, type TestServer } from '../fixtures/open-server.ts'
import { openToolServer, toolConfig } from '../fixtures/open-tool-server.ts'
import { UnknownCallers } from './client-address.ts'

const LIST = '/api/tools/list'
const JSON_TYPE = { 'content-type': 'application/json' }

describe('a server with keys', () => {
  let now = 0
  let server: TestServer
  let key: string
  beforeAll(async () => {
    const { config, handlers } = toolConfig({ hello: async () => 1 })
    server = await openTestServer(config, { handlers, clock: { ...systemClock, now: () => now } })
    key = await server.key('acme')
  })
  afterAll(() => server.close())
  // Every test starts with the full burst.
  beforeEach(() => {
    now += 60_000
  })

  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(server.url + path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(body) })

  test('limits requests without a valid key to 20 a second with a burst of 100', async () => {
    expect(await statuses(server.url + LIST, 60)).toEqual({ 401: 60 })
    expect(await statuses(server.url + LIST, 60, { 'x-api-key': 'ty_wrong' })).toEqual({ 401: 40, 429: 20 })
    const refused = await fetch(server.url + LIST)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(refused.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(await refused.json()).toMatchObject({
      title: 'Too many requests without a valid API key',
      detail: 'an address may send 20 a second; try again in 1 s, or send a valid key',
    })
    now += 500
    expect(await statuses(server.url + LIST, 15)).toEqual({ 401: 10, 429: 5 })
  })

  test('shares one limit between its endpoints, and lets valid keys in from the same address', async () => {
    await statuses(server.url + LIST, 100)
    const hello = { tool_name: 'hello', params: {} }
    expect((await post('/tools/execute', hello)).status).toBe(429)
    expect((await post('/mcp', {})).status).toBe(429)
    const openAi = await post('/v1/chat/completions', {})
    expect([openAi.status, await openAi.json()]).toMatchObject([429, { error: { type: 'rate_limit_error' } }])
    expect(await statuses(server.url + LIST, 120, { 'x-api-key': key })).toEqual({ 200: 120 })
    expect((await post('/tools/execute', hello, { 'x-api-key': key })).status).toBe(200)
  })

  test('does not limit public endpoints and the files of the page', async () => {
    await statuses(server.url + LIST, 101)
    for (const path of ['/health', '/api/session', '/assets/none.js', '/nothing']) {
      const status = path === '/health' || path === '/api/session' ? 200 : 404
      expect([path, await statuses(server.url + path, 110)]).toEqual([path, { [status]: 110 }])
    }
  })

  test('counts sign-in attempts, and answers 429 before their body arrives', async () => {
    for (let index = 0; index < 100; index++) {
      expect((await post('/api/session', { key: `ty_wrong${index}` })).status).toBe(401)
    }
    expect((await post('/api/session', { key })).status).toBe(429)
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.write('POST /api/session HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n')
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 429 /)
    now += 1_000
    expect((await post('/api/session', { key })).status).toBe(200)
  })

  test('counts wrong keys in requests for the session', async () => {
    const wrong = { 'x-api-key': 'ty_wrong' }
    expect(await statuses(`${server.url}/api/session`, 101, wrong)).toEqual({ 200: 100, 429: 1 })
  })
})

test('a server without keys has no limit', async () => {
  const { url } = await openToolServer({ hello: async () => 1 })
  expect(await statuses(url + LIST, 150)).toEqual({ 200: 150 })
})

describe('the address of a client', () => {
  const PROXIES = ['127.0.0.1', '10.0.0.0/24', '2001:db8:ffff::/48']

  /** Counts requests that come over one connection until nothing is left of the limit; gives how many were let in. */
  function counter(trusted_proxies: readonly string[], remoteAddress = '127.0.0.1') {
    const unknown = new UnknownCallers({
      config: { server: { trusted_proxies } },
      clock: { ...systemClock, now: () => 0 },
    })
    return (forwarded: string, times = 101): number => {
      const request = { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }
      for (let index = 0; index < times; index++) {
        try {
          unknown.count(request as unknown as IncomingMessage)
        } catch {
          return index
        }
      }
      return times
    }
  }

  test('is that of the connection if it is not a trusted proxy, whatever the header says', () => {
    for (const count of [counter([]), counter(PROXIES, '10.0.1.1'), counter(PROXIES, '')]) {
      expect([count('192.0.2.1', 60), count('192.0.2.2', 60)]).toEqual([60, 40])
    }
  })

  test('is the right-most one in X-Forwarded-For that is not a trusted proxy', () => {
    for (const count of [counter(PROXIES), counter(PROXIES, '::ffff:127.0.0.1')]) {
      expect(count('192.0.2.1')).toBe(100)
      const same = ['198.51.100.9, 192.0.2.1', '192.0.2.1, 10.0.0.7', '192.0.2.1:4711', ' 192.0.2.1 ,10.0.0.7 ']
      for (const forwarded of same) expect([forwarded, count(forwarded)]).toEqual([forwarded, 0])
      for (const forwarded of ['192.0.2.1, 192.0.2.2', '192.0.2.1, 10.0.1.1']) {
        expect([forwarded, count(forwarded)]).toEqual([forwarded, 100])
      }
    }
  })

  test('is that of the last trusted proxy if the header has no other address', () => {
    const count = counter(PROXIES)
    expect([count('192.0.2.1, unknown'), count(''), count('127.0.0.1')]).toEqual([100, 0, 0])
    expect([count('192.0.2.1, [::, 10.0.0.7'), count('10.0.0.7')]).toEqual([100, 0])
  })

  test('is an IPv6 network of 64 bits, and IPv4 in the form of IPv6 is IPv4', () => {
    const count = counter(PROXIES)
    expect(count('2001:db8:0:1::1')).toBe(100)
    expect(count('2001:db8:0:1:ffff::2')).toBe(0)
    expect(count('[2001:db8:0:1::3]:4711, 2001:db8:ffff::1')).toBe(0)
    expect(count('2001:db8:0:2::1')).toBe(100)
    expect([count('192.0.2.1'), count('::ffff:192.0.2.1')]).toEqual([100, 0])
    expect(counter([], 'fe80::1%eth0')('')).toBe(100)
  })

  test('needs trusted proxies that are addresses or CIDRs', () => {
    const check = (entry: string) => () => checkConfig({ server: { trusted_proxies: [entry] } }, 'config.json')
    expect(check('10.0.0.0/8')).not.toThrow()
    expect(check('nginx')).toThrow(
      'config.json: server.trusted_proxies has "nginx", which is neither an IP address nor a CIDR',
    )
    expect(check('10.0.0.1/8')).toThrow('write "10.0.0.0/8" for the range or "10.0.0.1" for the one address')
  })

  test('is remembered for at most 10,000 clients', () => {
    const unknown = new UnknownCallers({ config: {}, clock: systemClock })
    for (let index = 0; index < 10_500; index++) {
      const remoteAddress = `11.0.${index >> 8}.${index & 255}`
      unknown.count({ socket: { remoteAddress }, headers: {} } as unknown as IncomingMessage)
    }
    expect(unknown.size).toBe(10_000)
  })
})

/** The statuses of so many requests, and how often each came. */
async function statuses(url: string, times: number, headers: Record<string, string> = {}) {
  const counts: Record<number, number> = {}
  for (let index = 0; index < times; index++) {
    const answer = await fetch(url, { headers })
    await answer.arrayBuffer()
    counts[answer.status] = (counts[answer.status] ?? 0) + 1
  }
  return counts
}
