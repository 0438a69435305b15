import { afterEach, describe, expect, test } from 'vitest'
import { SecretValues } from '../definition/secret-values.ts'
import { guardedAgent } from '../network/guarded-agent.ts'
import { NetworkRules } from '../network/network-rules.ts'
import { failureOf } from './fixtures/failure-of.ts'
import { Service } from './fixtures/service.ts'
import type { HttpResponse, OutgoingRequest } from './outgoing-request.ts'
import { Redirects, send } from './send.ts'

const STATUSES = [301, 302, 303, 307, 308]
const ELSEWHERE = "The service behind tool 'weather' "

let service: Service | undefined

/** A service that redirects `/301?to=there` to `there`, with that status, and says at the end what it was sent. */
async function redirecting(): Promise<Service> {
  const made = await Service.http(({ method, url = '', headers }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://any')
    const location = searchParams.get('to')
    if (location === null) response.end(JSON.stringify({ method, url, headers }))
    else response.writeHead(Number(pathname.slice(1)), { location }).end('moved')
  })
  service = made
  return made
}

const via = (status: number, location: string): string => `/${status}?to=${encodeURIComponent(location)}`
const seen = ({ body }: HttpResponse) => JSON.parse(body.toString())

afterEach(async () => {
  await service?.close()
  service = undefined
})

describe('a redirect', () => {
  test.each(STATUSES)('%i of a read is followed', async (status) => {
    const weather = await redirecting()
    const response = await weather.ask(via(status, '/there?b=2'))
    expect(seen(response)).toMatchObject({ method: 'GET', url: '/there?b=2' })
    expect(response).toMatchObject({ status: 200, origin: weather.origin, path: '/there' })
  })

  test.each(['there', '/there', './there', '//api.test:PORT/there', 'http://api.test:PORT/there#part'])(
    'leads to %s as a browser would read it',
    async (location) => {
      const weather = await redirecting()
      const asked = via(301, location.replace('PORT', String(weather.port)))
      expect(seen(await weather.ask(asked)).url).toBe('/there')
    },
  )

  test('303 of a write is followed by a GET without the body', async () => {
    const weather = await redirecting()
    const headers = { 'content-type': 'application/json', 'x-kept': 'yes' }
    const request = weather.request(via(303, '/result'), { method: 'POST', headers, body: '{}' })
    const sent = seen(await send(request, weather.options()))
    expect(sent).toMatchObject({ method: 'GET', url: '/result', headers: { 'x-kept': 'yes' } })
    expect(sent.headers['content-type']).toBeUndefined()
    expect(sent.headers['content-length']).toBeUndefined()
  })

  test.each([301, 302, 307, 308])('does not follow %i of a write and explains what to do', async (status) => {
    const weather = await redirecting()
    const request = weather.request(via(status, 'http://other.test:81/x?token=1'), { method: 'POST', body: '{}' })
    expect(await failureOf(send(request, weather.options()))).toEqual({
      code: 'EXECUTION_ERROR',
      message: `${ELSEWHERE}redirects to 'other.test:81' (${status}). A POST is not redirected: write the new address in the tool's implementation.url`,
      extras: status < 303 ? { outcome: 'unknown' } : {},
      repeat: undefined,
    })
    expect(weather.asked).toHaveLength(1)
  })

  test.each(['PUT', 'DELETE', 'PATCH'] as const)('of a %s is not followed either', async (method) => {
    const weather = await redirecting()
    const request = weather.request(via(308, '/there'), { method })
    await expect(send(request, weather.options())).rejects.toMatchObject({ code: 'EXECUTION_ERROR' })
    expect(weather.asked).toHaveLength(1)
  })

  test('of a write that was done is answered for, wherever it leads', async () => {
    const weather = await redirecting()
    const lost = via(303, via(308, 'http://evil.test/'))
    const failed = await failureOf(send(weather.request(lost, { method: 'POST' }), weather.options()))
    expect(failed).toMatchObject({ code: 'EXECUTION_ERROR', extras: { outcome: 'unknown' } })
  })

  test('of a completed write to an unreachable host has an unknown outcome', async () => {
    const weather = await redirecting()
    const agent = guardedAgent(new NetworkRules({ allow_private: ['127.0.0.1/32'] }).addresses, {
      lookup: async (name) => {
        if (name === 'api.test') return ['127.0.0.1']
        throw Object.assign(new Error(), { code: 'ENOTFOUND' })
      },
    })
    const request = weather.request(via(303, 'http://other.test/'), { method: 'POST' })
    expect(await failureOf(send(request, weather.options({ agent })))).toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      extras: { outcome: 'unknown' },
      repeat: {},
    })
    expect((await failureOf(send(request, weather.options({ agent })))).repeat).toEqual({})
    await agent.destroy()
  })

  test('keeps a HEAD a HEAD', async () => {
    const weather = await redirecting()
    await send(weather.request(via(303, '/there'), { method: 'HEAD' }), weather.options())
    expect(weather.asked[1]).toBe('HEAD /there')
  })

  test('is followed five times and not six', async () => {
    const weather = await redirecting()
    const chain = (steps: number): string => (steps === 0 ? '/end' : via(302, chain(steps - 1)))
    expect(seen(await weather.ask(chain(5))).url).toBe('/end')
    await expect(weather.ask(chain(6))).rejects.toMatchObject({
      message: `${ELSEWHERE}redirects more than 5 times, at last to 'api.test:${weather.port}'`,
    })
  })

  test('303 of a write may lead to a GET of the same address', async () => {
    service = await Service.http(({ method }, response) => {
      if (method === 'GET') response.end('the list')
      else response.writeHead(303, { location: '/items' }).end()
    })
    const { body } = await send(service.request('/items', { method: 'POST', body: '{}' }), service.options())
    expect(body.toString()).toBe('the list')
  })

  test('refuses 303 of a write to an internal host with an unknown outcome', async () => {
    service = await Service.http((_, response) => response.writeHead(303, { location: 'http://other.test/' }).end())
    const rules = new NetworkRules({ allow_private: ['127.0.0.1/32'] })
    const agent = guardedAgent(rules.addresses, {
      lookup: async (name) => [name === 'api.test' ? '127.0.0.1' : '10.0.0.1'],
    })
    const request = service.request('/items', { method: 'POST', body: '{}' })
    await expect(send(request, service.options({ agent }))).rejects.toMatchObject({
      code: 'EXECUTION_ERROR',
      message: expect.stringContaining("The host 'other.test' was refused: it resolves to a private address"),
      extras: { outcome: 'unknown' },
    })
    await agent.destroy()
  })

  test('stops at a redirect loop', async () => {
    service = await Service.http(({ url }, response) => {
      response.writeHead(302, { location: url === '/round' ? '/about#top' : '/round' }).end()
    })
    await expect(service.ask('/round')).rejects.toMatchObject({
      message: `${ELSEWHERE}redirects in a circle, back to 'api.test:${service.port}'`,
    })
    expect(service.asked).toEqual(['GET /round', 'GET /about'])
  })

  test('without a place to go to is an error', async () => {
    service = await Service.http((_, response) => response.writeHead(302).end())
    await expect(service.ask('/')).rejects.toMatchObject({
      message: `${ELSEWHERE}answered 302 without a Location`,
    })
  })

  test.each(['http://', 'http://[', 'http://a b/'])('to %s is an error', async (location) => {
    const weather = await redirecting()
    await expect(weather.ask(via(302, location))).rejects.toMatchObject({
      code: 'EXECUTION_ERROR',
      message: `${ELSEWHERE}answered 302 with a Location that is not a URL`,
    })
  })

  test.each([
    ['http://evil.test/', "The host 'evil.test' was refused"],
    ['http://169.254.169.254/latest/meta-data', "The host '169.254.169.254' was refused"],
    ['http://0x7f.1/', "The host '127.0.0.1' was refused"],
    ['http://[::ffff:10.0.0.1]/', 'was refused'],
    ['http://other.test:22/', "Port 22 of the host 'other.test' was refused"],
    ['http://me:secret@other.test/', 'contains a user name or a password'],
    ['file:///etc/passwd', "The scheme 'file' was refused"],
    ['gopher://other.test/', "The scheme 'gopher' was refused"],
    ['javascript:alert(1)', "The scheme 'javascript' was refused"],
  ])('to %s is refused, and nothing is asked', async (location, words) => {
    const weather = await redirecting()
    const failed = await weather.ask(via(302, location)).catch((error) => error)
    expect(failed).toMatchObject({ code: 'EXECUTION_ERROR', repeat: undefined })
    expect(failed.message).toContain(words)
    expect(weather.asked).toHaveLength(1)
  })

  test('has one time limit with all its steps', async () => {
    const weather = await redirecting()
    let now = 0
    const clock = { ...weather.options().clock, now: () => (now += 1_000) }
    const chain = via(302, via(302, '/end'))
    const expiries: number[] = []
    const wheel = { add: (_: unknown, at: number) => expiries.push(at), remove: () => undefined }
    await weather.ask(chain, { clock, wheel: wheel as never })
    expect(expiries).toEqual([31_000, 31_000, 31_000])
  })
})

describe('credentials', () => {
  const headers = { authorization: 'Bearer t', cookie: 'a=b', 'x-key': 'k', 'x-kept': 'yes', accept: 'text/plain' }
  const credentials = ['x-key']

  test('goes along inside one origin', async () => {
    const weather = await redirecting()
    const request = weather.request(via(302, '/there'), { headers, credentials })
    expect(seen(await send(request, weather.options())).headers).toMatchObject(headers)
  })

  test('are dropped at another origin and not restored', async () => {
    const weather = await redirecting()
    const back = via(302, `${weather.origin}/there`)
    const request = weather.request(via(302, `http://other.test:${weather.port}${back}`), { headers, credentials })
    const sent = seen(await send(request, weather.options())).headers
    expect(sent).toMatchObject({ 'x-kept': 'yes', accept: 'text/plain', host: `api.test:${weather.port}` })
    for (const name of ['authorization', 'cookie', 'x-key', 'referer']) expect(sent[name]).toBeUndefined()
  })

  test('is also which of its hosts a server is asked for', async () => {
    const weather = await redirecting()
    const moved = via(302, `http://other.test:${weather.port}/there`)
    const sent = seen(await send(weather.request(moved, { headers: { host: 'inner' } }), weather.options()))
    expect(sent.headers.host).toBe(`other.test:${weather.port}`)
  })

  test('is not in the query of the next place, unless the service put it there', async () => {
    const weather = await redirecting()
    const sent = seen(await weather.ask(`${via(302, '/there?page=2')}&api_key=k`))
    expect(sent.url).toBe('/there?page=2')
  })

  test('are removed from redirect errors', async () => {
    const weather = await redirecting()
    const secrets = new SecretValues(['hunter22secret'])
    const failed = await weather.ask(via(302, 'http://hunter22secret.evil.test/'), { secrets }).catch((error) => error)
    expect(failed.message).toContain('[redacted].evil.test')
    expect(failed.message).not.toContain('hunter22secret')
  })
})

describe('encryption', () => {
  const request: OutgoingRequest = { method: 'GET', origin: 'https://api.test', path: '/', headers: {} }
  const moved = (location: string): HttpResponse => ({
    status: 301,
    headers: { location },
    body: Buffer.alloc(0),
    origin: 'https://api.test',
    path: '/',
  })
  const options = { network: { refusal: () => undefined }, tool: 'weather' } as never

  test('is not given up by a redirect', () => {
    expect(() => new Redirects(request, options).next(moved('http://api.test/'))).toThrow(
      `${ELSEWHERE}redirects from https to http, to 'api.test', which is not allowed`,
    )
  })

  test('may begin with one', () => {
    const plain = { ...request, origin: 'http://api.test', headers: { authorization: 'Bearer t' } }
    const next = new Redirects(plain, options).next(moved('https://api.test/'))
    expect(next).toEqual({ method: 'GET', origin: 'https://api.test', path: '/', headers: {} })
  })
})
