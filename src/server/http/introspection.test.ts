import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { IntrospectionConfig, OidcConfig } from '../../config/service-schema.ts'
import { INITIALIZE, POST_HEADERS } from '../../mcp/server/fixtures/http-yard.ts'
import { AUDIENCE, openIssuer, PUBLIC_URL } from '../fixtures/open-issuer.ts'
import { openTestServer } from '../fixtures/open-server.ts'
import { rawRequest } from '../fixtures/raw-request.ts'

const ENDPOINT = 'POST /token/introspection'
const CLIENT = { client_id: 'api', client_secret: '${API_SECRET}' }
const FAILED = 'The OpenID Connect issuer failed'
const ENV = { API_SECRET: 'secret: of the "API"' }

let issuer: Awaited<ReturnType<typeof openIssuer>>

beforeAll(async () => {
  issuer = await openIssuer()
})
afterAll(() => issuer.close())

/** A server that asks the issuer about tokens. */
async function open(introspection: IntrospectionConfig | undefined, more: Partial<OidcConfig> = {}, env: object = ENV) {
  const roles = { 'tool-admins': 'admin', staff: 'user' }
  const oidc = { ...issuer.settings, roles, ...more, ...(introspection && { introspection }) }
  const server = await openTestServer(
    { server: { public_url: PUBLIC_URL }, auth: { oidc }, mcp: { servers_out: { small: { tools: ['*'] } } } },
    { env: { ...env } },
  )
  const before = issuer.asked(ENDPOINT)
  const ask = async (token: string, path = '/api/tools/list') => {
    const headers = { authorization: `Bearer ${token}`, ...POST_HEADERS, host: 'tools.example.com' }
    const message = path.startsWith('/mcp') ? { method: 'POST', body: JSON.stringify(INITIALIZE) } : {}
    const { status, text, headers: got } = await rawRequest(server.url + path, { ...message, headers })
    return { status, text, headers: got }
  }
  const logged = (message: string) => server.log.lines.findLast((line) => line.message === message)?.fields
  return {
    server,
    ask,
    status: async (token: string, path?: string) => (await ask(token, path)).status,
    /** How often the issuer was asked. */
    asked: () => issuer.asked(ENDPOINT) - before,
    refusal: () => logged('A token was refused'),
    failure: () => logged(FAILED),
  }
}

/** The same, until the end of the test. */
async function openFor(...given: Parameters<typeof open>) {
  const opened = await open(...given)
  onTestFinished(() => opened.server.close())
  return opened
}

describe('opaque tokens', () => {
  test('are accepted if the issuer says that they are active', async () => {
    const { ask, status, server } = await openFor(CLIENT)
    const token = await issuer.opaque()
    expect(JSON.parse((await ask(token, '/api/session')).text)).toMatchObject({
      ...{ id: 'user:acme/ada', tenant: 'acme', role: 'admin' },
    })
    expect([await status(token), await status(token, '/mcp'), await status(await server.key('acme'))]).toEqual([
      ...[200, 200, 200],
    ])
  })

  test('are unknown without "introspection", and the issuer is not asked', async () => {
    const { status, asked } = await openFor(undefined)
    expect([await status(await issuer.opaque()), asked()]).toEqual([401, 0])
  })

  test('are asked about once, however many requests come, and again when the answer is old', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const { status, asked } = await openFor({ ...CLIENT, cache_ms: 30_000 })
    const token = await issuer.opaque()
    const first = await Promise.all(Array.from({ length: 20 }, () => status(token)))
    expect([new Set(first), asked()]).toEqual([new Set([200]), 1])
    await issuer.forget(token)
    vi.setSystemTime(Date.now() + 29_000)
    expect([await status(token), asked()]).toEqual([200, 1])
    vi.setSystemTime(Date.now() + 2_000)
    expect([await status(token), asked()]).toEqual([401, 2])
  })

  test('are asked about at each request without a cache', async () => {
    const { status, asked } = await openFor({ ...CLIENT, cache_ms: 0 })
    const token = await issuer.opaque()
    expect([await status(token), await status(token), asked()]).toEqual([200, 200, 2])
    await issuer.forget(token)
    expect(await status(token)).toBe(401)
  })

  test('end when they expire, also within the time of the cache', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const { status } = await openFor({ ...CLIENT, cache_ms: 3_600_000 })
    const token = await issuer.opaque({ expiresIn: 60 })
    expect(await status(token)).toBe(200)
    vi.setSystemTime(Date.now() + 95_000)
    expect(await status(token)).toBe(401)
  })

  test('that are not active are asked about again after 10 seconds', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const { status, asked, refusal, ask } = await openFor(CLIENT)
    expect([await status('unknown'), await status('unknown'), asked()]).toEqual([401, 401, 1])
    expect(refusal()).toMatchObject({ claim: 'active', expected: true, actual: false })
    expect((await ask('unknown')).headers['www-authenticate']).toBe('Bearer error="invalid_token"')
    vi.setSystemTime(Date.now() + 11_000)
    expect([await status('unknown'), asked()]).toEqual([401, 2])
  })

  test('of a path of MCP count there only', async () => {
    const { status, asked } = await openFor(CLIENT)
    const token = await issuer.opaque({ aud: `${PUBLIC_URL}/mcp/small` })
    const paths = ['/mcp/small', '/mcp', '/api/tools/list', '/mcp/small']
    const answers = []
    for (const path of paths) answers.push(await status(token, path))
    expect([answers, asked()]).toEqual([[200, 401, 401, 200], 1])
  })

  test('that are refresh tokens are refused', async () => {
    const { status, refusal } = await openFor(CLIENT)
    expect(await status(await issuer.opaque({}, 'RefreshToken'))).toBe(401)
    expect(refusal()).toMatchObject({ problem: 'it is not an access token' })
  })
})

describe('the issuer is not shown', () => {
  test('a JWT, unless "jwt" is set', async () => {
    const usual = await openFor(CLIENT)
    const [good, wrong, unsigned] = [
      issuer.token(),
      issuer.token({ aud: 'other' }),
      `${issuer.token().split('.', 2).join('.')}.`,
    ]
    expect([await usual.status(good), await usual.status(wrong), await usual.status(unsigned)]).toEqual([200, 401, 401])
    expect(usual.asked()).toBe(0)
    const { status, asked, failure } = await openFor({ ...CLIENT, jwt: true })
    // This issuer does not answer about JWTs: a token that would be valid here is refused.
    expect([await status(good), asked()]).toEqual([503, 1])
    expect(failure()).toMatchObject({ endpoint: 'introspection', problem: 'it answered with status 400' })
    // Such an answer is about that token only.
    expect(await status(await issuer.opaque())).toBe(200)
  })

  test('a key of Toolyard, valid or not, nor a text that is no token', async () => {
    const { status, server, asked } = await openFor(CLIENT)
    const key = await server.key('acme')
    const { keys } = server.installation.storage
    expect(await status(key)).toBe(200)
    await keys.revoke((await keys.list())[0]?.id ?? '', 'acme')
    await server.installation.callers.load(keys)
    expect([await status(key), await status('ty_other'), await status('a%20b'), await status('"x"')]).toEqual([
      ...[401, 401, 401, 401],
    ])
    expect((await fetch(`${server.url}/api/tools/list`, { headers: { 'x-api-key': 'opaque' } })).status).toBe(401)
    expect(asked()).toBe(0)
  })

  test('a key of Toolyard with a typing mistake at its beginning or end, or in other letters', async () => {
    const { status, server, asked } = await openFor(CLIENT)
    const key = await server.key('acme')
    const mistyped = [
      ...[key.slice(1), `x${key}`, `Bearer.${key}`, `${key}x`, key.slice(0, -1), key.slice(1, -1), `x${key.slice(1)}`],
      ...[key.toUpperCase(), `Ty_${key.slice(3)}`, `.${key.slice(1).toUpperCase()}`, `x${key}.a`, `a.x${key}.b`],
    ]
    const secret = key.slice(3)
    mistyped.push(secret, `ty${secret}`, `ty-${secret}`, `tyy${secret}x`, `a.${secret}.b`, `${'x'.repeat(10)}${secret}`)
    for (const token of mistyped) expect([token.length, await status(token)]).toEqual([token.length, 401])
    expect(asked()).toBe(0)
    // Other tokens can have the same letters.
    for (const token of [`y_${'aB3'.repeat(60)}`, `aB3y_${'aB3'.repeat(60)}`, `aty_${'aB3'.repeat(60)}`])
      await status(token)
    expect(asked()).toBe(3)
  })
})

describe('while the issuer fails', () => {
  test('unknown tokens get 503, known ones and keys go on', async () => {
    const { ask, status, server, asked } = await openFor(CLIENT)
    const known = await issuer.opaque()
    const [key, other] = [await server.key('acme'), await issuer.opaque()]
    expect(await status(known)).toBe(200)
    issuer.state.down = '/token/introspection'
    onTestFinished(() => {
      issuer.state.down = false
    })
    const answer = await ask(other)
    expect([answer.status, answer.headers['retry-after'], answer.text]).toEqual([
      503,
      '5',
      expect.stringContaining('the issuer does not answer'),
    ])
    // It is not asked again for a while.
    expect([await status(other), asked()]).toEqual([503, 2])
    expect([await status(known), await status(key), await status(issuer.token())]).toEqual([200, 200, 200])
  })

  test('a secret that is not set is named in the log only, and not for each token', async () => {
    const { ask, failure, asked, server } = await openFor(CLIENT, {}, {})
    const answer = await ask('opaque')
    for (const token of ['second', 'third']) expect((await ask(token)).status).toBe(503)
    expect(server.log.lines.filter(({ message }) => message === FAILED)).toHaveLength(1)
    expect([answer.status, answer.text, asked()]).toEqual([503, expect.not.stringContaining('API_SECRET'), 0])
    expect(failure()).toMatchObject({ problem: expect.stringContaining('API_SECRET is not set') })
  })

  test('a wrong secret gets 503', async () => {
    const { status, failure } = await openFor(CLIENT, {}, { API_SECRET: 'wrong' })
    expect(await status(await issuer.opaque())).toBe(503)
    expect(failure()).toMatchObject({ problem: expect.stringContaining('401') })
  })
})

/** An endpoint that answers as it is told. */
async function openEndpoint(
  answer: (response: ServerResponse, form: URLSearchParams, request: IncomingMessage) => void,
) {
  const http = createServer((request, response) => {
    let text = ''
    request.on('data', (piece) => {
      text += piece
    })
    request.on('end', () => answer(response, new URLSearchParams(text), request))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const close = () => {
    http.closeAllConnections()
    http.close()
  }
  return { endpoint: `http://127.0.0.1:${(http.address() as AddressInfo).port}/introspect`, close }
}

/** The same, until the end of the test. */
async function endpointFor(answer: Parameters<typeof openEndpoint>[0]): Promise<string> {
  const { endpoint, close } = await openEndpoint(answer)
  onTestFinished(close)
  return endpoint
}

const now = () => Math.floor(Date.now() / 1_000)
const active = () => ({
  ...{ active: true, aud: AUDIENCE, sub: 'ada', client_id: 'page', token_type: 'Bearer', exp: now() + 600, iat: now() },
  ...{ tenant: 'acme', roles: ['staff'] },
})

describe('the answer about a token', () => {
  let told: (response: ServerResponse) => void = () => {}
  let tokens = 0
  let opened: Awaited<ReturnType<typeof open>>
  let scripted: Awaited<ReturnType<typeof openEndpoint>>

  beforeAll(async () => {
    scripted = await openEndpoint((response) => told(response))
    opened = await open({ ...CLIENT, endpoint: scripted.endpoint })
  })
  afterAll(async () => {
    await opened.server.close()
    scripted.close()
  })

  const asJson = (answer: unknown) => (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }

  test.each<[string, object, object]>([
    ['is not active', { active: false }, { claim: 'active' }],
    ['has no end', { exp: undefined }, { claim: 'exp' }],
    ['has an end that is no time', { exp: 'never' }, { claim: 'exp' }],
    ['has expired', { exp: 1_700_000_000 }, { claim: 'exp' }],
    ['begins in the future', { nbf: 4_000_000_000 }, { claim: 'nbf' }],
    ['has another issuer', { iss: 'https://other.example.com' }, { claim: 'iss' }],
    ['has another audience', { aud: 'other' }, { claim: 'aud', actual: 'other' }],
    ['has no audience', { aud: undefined }, { claim: 'aud' }],
    ['has the audience of the web UI', { aud: 'page' }, { claim: 'aud' }],
    ['names no type', { token_type: undefined }, { claim: ['token_use', 'token_type', 'typ'] }],
    ['is about a refresh token', { token_type: 'Refresh' }, { claim: 'token_type' }],
    ['is about a refresh token, by its use', { token_use: 'refresh_token' }, { claim: 'token_use' }],
    ['is about an ID token', { typ: 'ID' }, { claim: 'typ' }],
    ['has a nonce', { nonce: 'n' }, { claim: 'nonce' }],
    ['has a bound key', { cnf: { jkt: 'x' } }, { claim: 'cnf' }],
    ['names no client', { client_id: undefined }, { claim: expect.arrayContaining(['client_id']) }],
    ['names no user', { sub: undefined }, { claim: 'sub' }],
    ['names no role', { roles: [] }, { claim: 'roles' }],
  ])('is refused if it %s', async (_what, claims, expected) => {
    const { status, refusal } = opened
    told = asJson(active())
    expect(await status(`good-${tokens}`)).toBe(200)
    told = asJson({ ...active(), ...claims })
    expect([401, 403]).toContain(await status(`other-${tokens++}`))
    expect(refusal()).toMatchObject(expected)
  })

  test.each<[string, (response: ServerResponse) => void]>([
    ['is no JSON', (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('<html>')],
    ['is a list', asJson([active()])],
    ['does not say whether it is active', asJson({ ...active(), active: 'true' })],
    [
      'is signed by nobody',
      (response) => {
        const body = Buffer.from(JSON.stringify({ token_introspection: active() })).toString('base64url')
        response.writeHead(200, { 'content-type': 'application/token-introspection+jwt' }).end(`e30.${body}.x`)
      },
    ],
    ['is too long', asJson({ ...active(), roles: Array.from({ length: 9_000 }, (_, index) => `role-${index}`) })],
    ['is longer than any answer may be', asJson({ ...active(), more: 'x'.repeat(11_000_000) })],
    ['is nested too deeply', (response) => void response.writeHead(200).end(`{"active":true,"x":${'['.repeat(9_000)}`)],
    ['has an end that is a text', asJson({ ...active(), exp: String(now() + 600) })],
  ])('is refused for this token only if it %s', async (_what, answer) => {
    const endpoint = await endpointFor((response, form) =>
      (form.get('token') === 'odd' ? answer : asJson(active()))(response),
    )
    const { status, failure, refusal } = await openFor({ ...CLIENT, endpoint })
    const answers = []
    for (const token of ['odd', 'other-1', 'odd', 'other-2']) answers.push(await status(token))
    expect(answers).toEqual([401, 200, 401, 200])
    expect(failure()).toBeUndefined()
    expect(refusal()?.problem).toMatch(/answer about it can't be used|has no valid claim/)
  })

  test.each<[string, (response: ServerResponse) => void]>([
    ['leads elsewhere', (response) => void response.writeHead(302, { location: issuer.issuer }).end()],
    ['is forbidden', (response) => void response.writeHead(403).end()],
    ['is an error', (response) => void response.writeHead(500).end()],
    ['breaks off', (response) => void response.destroy()],
    ['never comes', () => {}],
  ])('gets 503 if it %s', async (_what, answer) => {
    const endpoint = await endpointFor((response) => answer(response))
    const { status, failure } = await openFor({ ...CLIENT, endpoint, timeout_ms: 200 })
    expect(await status('opaque')).toBe(503)
    expect(failure()).toMatchObject({ endpoint: 'introspection' })
    expect(JSON.stringify(failure())).not.toContain('opaque')
  })

  test.each<[string, (response: ServerResponse) => void]>([
    ['is forbidden', (response) => void response.writeHead(403).end()],
    ['is an error', (response) => void response.writeHead(500).end()],
    ['breaks off', (response) => void response.destroy()],
  ])('counts for the issuer only after three tokens if it %s', async (_what, answer) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const seen: string[] = []
    const endpoint = await endpointFor((response, form) => {
      const token = String(form.get('token'))
      seen.push(token)
      ;(token.startsWith('odd') ? answer : asJson(active()))(response)
    })
    const { status } = await openFor({ ...CLIENT, endpoint })
    const statuses = async (tokens: readonly string[]) => {
      const answers = []
      for (const token of tokens) answers.push(await status(token))
      return answers
    }
    // One token fails as often as its user likes.
    expect(await statuses(['odd-1', 'good-1', 'odd-1', 'odd-1', 'odd-1', 'good-2'])).toEqual([
      ...[503, 200, 503, 503, 503, 200],
    ])
    expect(seen).toEqual(['odd-1', 'good-1', 'good-2'])
    expect(await statuses(['odd-2', 'odd-3', 'odd-4', 'good-3'])).toEqual([503, 503, 503, 503])
    expect(seen).not.toContain('good-3')
  })

  test('is asked for with the token in the body and the client in a header', async () => {
    const seen: unknown[] = []
    const endpoint = await endpointFor((response, form, { headers, url }) => {
      seen.push([Object.fromEntries(form), headers.authorization, url])
      asJson(active())(response)
    })
    const { status } = await openFor({ ...CLIENT, endpoint })
    expect(await status('opaque+/=')).toBe(200)
    const basic = Buffer.from(`api:${encodeURIComponent(ENV.API_SECRET).replaceAll('%20', '+')}`).toString('base64')
    expect(seen).toEqual([[{ token: 'opaque+/=', token_type_hint: 'access_token' }, `Basic ${basic}`, '/introspect']])
  })

  test('with "jwt" counts for JWTs, too', async () => {
    const endpoint = await endpointFor(asJson(active()))
    const { status } = await openFor({ ...CLIENT, endpoint, jwt: true })
    expect(await status('e30.e30.e30')).toBe(200)
  })

  test('is waited for by at most 100 tokens', async () => {
    const waiting: ServerResponse[] = []
    const endpoint = await endpointFor((response) => void waiting.push(response))
    const { status, ask } = await openFor({ ...CLIENT, endpoint, timeout_ms: 30_000 })
    const asked = Array.from({ length: 100 }, (_, index) => status(`opaque-${index}`))
    await vi.waitUntil(() => waiting.length === 100, { timeout: 20_000 })
    const more = await ask('opaque-100')
    expect([more.status, more.text]).toEqual([503, expect.stringContaining('too many tokens')])
    for (const response of waiting) asJson(active())(response)
    expect(new Set(await Promise.all(asked))).toEqual(new Set([200]))
  })
})
