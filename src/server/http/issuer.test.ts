import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Caller } from '../../app/callers/callers.ts'
import type { Config } from '../../config/config.ts'
import { INITIALIZE, POST_HEADERS } from '../../mcp/server/fixtures/http-yard.ts'
import { openIssuer, signed, TestUser } from '../fixtures/open-issuer.ts'
import type { TestServer } from '../fixtures/open-server.ts'
import { openTestServer } from '../fixtures/open-server.ts'
import { toolConfig } from '../fixtures/open-tool-server.ts'
import { rawRequest } from '../fixtures/raw-request.ts'

let issuer: Awaited<ReturnType<typeof openIssuer>>
let server: TestServer
let key: string

const ROLES = { owner: { scopes: ['read', 'observe', 'installation'] } } as const

beforeAll(async () => {
  issuer = await openIssuer()
  const { config, handlers } = toolConfig({ who: { run: async () => 'done' } })
  const auth: Config['auth'] = { oidc: issuer.settings }
  server = await openTestServer(
    {
      ...config,
      roles: ROLES,
      auth,
      mcp: { servers_out: { small: { tools: ['who'] } } },
      limits: { calls_per_minute: 1_000 },
    },
    { handlers },
  )
  issuer.serves(server.url)
  key = await server.key('acme')
})
afterAll(async () => {
  await server.close()
  await issuer.close()
})

const ask = async (path: string, token?: string, init: RequestInit = {}) => {
  const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...init.headers }
  const response = await fetch(server.url + path, { redirect: 'manual', ...init, headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text }
}

const status = async (token: string): Promise<number> => (await ask('/api/tools/list', token)).status

describe('the MCP endpoint', () => {
  test('says where clients get a token', async () => {
    const answer = await ask('/mcp', undefined, { method: 'POST' })
    const metadata = `${server.url}/.well-known/oauth-protected-resource/mcp`
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer resource_metadata="${metadata}"`,
    ])
    const wrong = await ask('/mcp', issuer.token({ aud: 'x' }), { method: 'POST' })
    expect(wrong.headers.get('www-authenticate')).toBe(`Bearer error="invalid_token", resource_metadata="${metadata}"`)
    const shared = {
      authorization_servers: [issuer.issuer],
      scopes_supported: ['openid', 'profile'],
      bearer_methods_supported: ['header'],
    }
    for (const path of ['', '/mcp', '/mcp/small']) {
      const { text } = await ask(`/.well-known/oauth-protected-resource${path}`)
      expect(JSON.parse(text)).toEqual({ resource: server.url + path, resource_name: 'Toolyard', ...shared })
    }
    expect((await ask('/.well-known/oauth-protected-resource/mcp/other')).status).toBe(404)
    const part = await ask('/mcp/small', undefined, { method: 'POST' })
    expect(part.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${metadata}/small"`)
    expect((await ask('/api/tools/list')).headers.get('www-authenticate')).toBe('Bearer')
    const elsewhere = await rawRequest(`${server.url}/mcp`, { method: 'POST', headers: { host: 'evil.example' } })
    expect(elsewhere.headers['www-authenticate']).toBe('Bearer')
  })

  test.each(['/mcp', '/mcp/small'])("lets the SDK's client sign in by itself and call a tool at %s", async (path) => {
    issuer.state.user = 'bob'
    onTestFinished(() => {
      issuer.state.user = 'ada'
    })
    const provider = new TestUser()
    const url = new URL(server.url + path)
    const first = new StreamableHTTPClientTransport(url, { authProvider: provider })
    const client = new Client({ name: 'test', version: '1' })
    await expect(client.connect(first)).rejects.toThrow(UnauthorizedError)
    await first.finishAuth(provider.answer ?? new URLSearchParams())
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }))
    onTestFinished(() => client.close())
    expect(await client.callTool({ name: 'who' })).toMatchObject({ content: [{ text: 'done' }] })
    expect(server.installation.callers.byId('user:acme/bob')).toMatchObject({ role: 'user', name: 'Bob' })
  })
})

describe('audiences', () => {
  const PUBLIC = 'https://tools.example.com'
  const statusOf = async (at: TestServer, path: string, aud: unknown) => {
    const headers = { authorization: `Bearer ${issuer.token({ aud })}`, ...POST_HEADERS, host: 'tools.example.com' }
    const message = { method: 'POST', body: JSON.stringify(INITIALIZE) }
    return (await rawRequest(at.url + path, { ...(path.startsWith('/mcp') && message), headers })).status
  }

  test('may be several, and those of a path of MCP count there only', async () => {
    const { config, handlers } = toolConfig({ who: { run: async () => 'done' } })
    const behind = 'https://host.example/gw//mcp/%73mall/'
    const audience = ['api://one', 'api://two', `${PUBLIC}/mcp/other`, `${PUBLIC}/mcp/%zz`, behind]
    const at = await openTestServer(
      {
        ...config,
        server: { public_url: PUBLIC },
        roles: ROLES,
        auth: { oidc: { ...issuer.settings, audience } },
        mcp: { servers_out: { small: { tools: ['who'] }, other: { tools: ['who'] } } },
      },
      { handlers },
    )
    onTestFinished(() => at.close())
    const paths = ['/api/tools/list', '/mcp', '/mcp/small', '/mcp/other']
    const all = async (aud: unknown) => Promise.all(paths.map((path) => statusOf(at, path, aud)))
    expect(await all('api://two')).toEqual([200, 200, 200, 200])
    expect(await all(['api://zero', 'api://one'])).toEqual([200, 200, 200, 200])
    expect(await all(`${PUBLIC}/mcp`)).toEqual([401, 200, 401, 401])
    expect(await all(`${PUBLIC}/mcp/small`)).toEqual([401, 401, 200, 401])
    expect(await all(`${PUBLIC}/mcp/other`)).toEqual([401, 401, 401, 200])
    expect(await all(behind)).toEqual([401, 401, 200, 401])
    expect(await all([`https://evil.example/mcp`, 7, ''])).toEqual([401, 401, 401, 401])
    expect(await all(`${PUBLIC}/mcp/%zz`)).toEqual([401, 401, 401, 401])
    // A token that was verified at its path is refused at others, also from the cache.
    const authorization = `Bearer ${issuer.token({ aud: `${PUBLIC}/mcp/small` })}`
    const headers = { authorization, ...POST_HEADERS, host: 'tools.example.com' }
    const post = async (path: string) =>
      (await rawRequest(at.url + path, { method: 'POST', headers, body: JSON.stringify(INITIALIZE) })).status
    expect([await post('/mcp/small'), await post('/mcp'), await post('/mcp/small')]).toEqual([200, 401, 200])
  })
})

/** A browser with cookies, which follows redirects to the end. */
class Browser {
  readonly cookies = new Map<string, string>()
  readonly set: string[] = []

  async open(address: string, stopBefore = 'none'): Promise<string> {
    let at = address
    for (let hops = 0; hops < 12 && !at.startsWith(stopBefore); hops++) {
      const { origin } = new URL(at)
      const cookie = [...this.cookies]
        .filter(([name]) => name.startsWith(origin))
        .map(([name, value]) => `${name.slice(origin.length)}=${value}`)
      const response = await fetch(at, { redirect: 'manual', headers: { cookie: cookie.join('; ') } })
      await response.body?.cancel()
      for (const line of response.headers.getSetCookie()) {
        this.set.push(line)
        const [pair = ''] = line.split(';')
        const [name = '', value = ''] = pair.split(/=(.*)/s)
        if (line.includes('Max-Age=0')) this.cookies.delete(origin + name)
        else this.cookies.set(origin + name, value)
      }
      const next = response.headers.get('location')
      if (next === null) return at
      at = new URL(next, at).href
    }
    return at
  }

  /** The cookie header for the server. */
  get header(): { cookie: string } {
    const own = [...this.cookies].filter(([name]) => name.startsWith(server.url))
    return { cookie: own.map(([name, value]) => `${name.slice(server.url.length)}=${value}`).join('; ') }
  }
}

describe('sign-in of the web UI', () => {
  const START = '/api/session/oidc'
  const session = async (headers: { cookie: string }) =>
    JSON.parse((await ask('/api/session', undefined, { headers })).text)

  test('starts a session on the server, which sign-out ends', async () => {
    const browser = new Browser()
    expect(await session({ cookie: '' })).toMatchObject({ state: 'signed_out', sign_in: true })
    expect(await browser.open(server.url + START)).toBe(`${server.url}/`)
    const [id = ''] = browser.header.cookie.split('=').slice(1)
    expect(browser.header.cookie).toMatch(/^toolyard_session=[\w-]{43}$/)
    const cookie = browser.set.find((line) => line.startsWith('toolyard_session='))
    expect(cookie).toContain('HttpOnly; SameSite=Strict')
    expect(browser.set.find((line) => line.startsWith('toolyard_sign_in='))).toContain('HttpOnly; SameSite=Lax')
    expect(await session(browser.header)).toMatchObject({ state: 'signed_in', user: 'ada', name: 'Ada Lovelace' })
    expect(JSON.stringify(await server.installation.storage.keys.users())).not.toContain(id)
    // Another page can't use the cookie.
    const foreign = { ...browser.header, origin: 'https://evil.example' }
    expect((await ask('/api/keys', undefined, { method: 'POST', headers: foreign })).status).toBe(403)
    // A session that was stolen ends with sign-out as well.
    const stolen = browser.header
    expect((await ask('/api/session', undefined, { method: 'DELETE', headers: stolen })).status).toBe(204)
    expect((await ask('/api/tools/list', undefined, { headers: stolen })).status).toBe(401)
  })

  test('needs the browser that started it, with its state, its nonce and its verifier', async () => {
    const browser = new Browser()
    const callback = `${server.url}${START}/callback`
    const address = await browser.open(server.url + START, callback)
    expect(address).toContain('code=')
    const finish = async (cookie: string, to = address) => {
      const response = await fetch(to, { redirect: 'manual', headers: { cookie } })
      const started = response.headers.getSetCookie().some((line) => /^toolyard_session=[\w-]{43}/.test(line))
      return [started, response.headers.get('location')]
    }
    const { cookie } = browser.header
    const [state = '', nonce = '', verifier = ''] = cookie.replace('toolyard_sign_in=', '').split('.')
    expect(await finish('')).toEqual([false, '/?sign_in=expired'])
    expect(await finish(`toolyard_sign_in=${'a'.repeat(43)}.${nonce}.${verifier}`)).toEqual([
      false,
      '/?sign_in=refused',
    ])
    expect(await finish(cookie, address.replace(/code=[^&]+/, 'code=wrong'))).toEqual([false, '/?sign_in=refused'])
    const again = await new Browser().open(server.url + START, callback)
    expect(await finish(cookie, again)).toEqual([false, '/?sign_in=refused'])
    const code = /code=([^&]+)/.exec(again)?.[1]
    // The code of another sign-in, with the state of this one.
    expect(await finish(cookie, address.replace(/code=[^&]+/, `code=${code}`))).toEqual([false, '/?sign_in=refused'])
    expect(await finish(`toolyard_sign_in=${state}.${'a'.repeat(43)}.${verifier}`)).toEqual([
      false,
      '/?sign_in=refused',
    ])
  })

  test.each([
    ['eve', 'no_role'],
    ['zoe', 'no_tenant'],
  ])('of %s is refused: %s', async (user, fault) => {
    issuer.state.user = user
    onTestFinished(() => {
      issuer.state.user = 'ada'
    })
    const browser = new Browser()
    expect(await browser.open(server.url + START)).toBe(`${server.url}/?sign_in=${fault}`)
    expect(browser.header.cookie).toBe('')
  })
})

describe('access tokens', () => {
  test('are accepted beside keys, with tenant and role from their claims', async () => {
    const token = issuer.token()
    expect([await status(token), await status(key), await status('ty_wrong')]).toEqual([200, 200, 401])
    const session = JSON.parse((await ask('/api/session', token)).text)
    expect(session).toMatchObject({
      state: 'signed_in',
      id: 'user:acme/ada',
      user: 'ada',
      name: 'Ada Lovelace',
      tenant: 'acme',
      role: 'admin',
    })
    expect(session.scopes).not.toContain('installation')
  })

  test('get the first role that is mapped, and installation only by a role that has it', async () => {
    const roleOf = async (roles: unknown) =>
      JSON.parse((await ask('/api/session', issuer.token({ roles }))).text) as { role?: string; scopes: string[] }
    expect(await roleOf('staff')).toMatchObject({ role: 'user', scopes: ['read', 'call', 'chat'] })
    expect(await roleOf(['owners', 'operators', 'unknown'])).toMatchObject({ role: 'operator' })
    expect((await roleOf(['installation', 'admin', 'staff'])).scopes).not.toContain('installation')
    expect((await roleOf('owners')).scopes).toContain('installation')
  })

  test.each<[string, object, number, string]>([
    ['no tenant', { tenant: undefined }, 403, 'claim \\"tenant\\"'],
    ['a tenant that is no name', { tenant: '*' }, 403, 'claim \\"tenant\\"'],
    ['several tenants', { tenant: ['acme'] }, 403, 'claim \\"tenant\\"'],
    ['no role', { roles: undefined }, 403, 'no role is mapped'],
    ['an unmapped role', { roles: ['guests', 'admin'] }, 403, 'no role is mapped'],
    ['a role from the prototype', { roles: ['constructor', '__proto__'] }, 403, 'no role is mapped'],
    ['another audience', { aud: 'https://other.example.com' }, 401, 'it is for another audience'],
    ['another issuer', { iss: 'https://other.example.com' }, 401, 'it is from another issuer'],
    ['an end that has passed', { exp: 1_700_000_000 }, 401, 'it has expired'],
    ['a start in the future', { nbf: 4_000_000_000 }, 401, 'it is not valid yet'],
    ['no end', { exp: undefined }, 401, 'no valid claim \\"exp\\"'],
    ['an end that is no time', { exp: '4000000000' }, 401, 'no valid claim \\"exp\\"'],
    ['a start that is no time', { nbf: 'now' }, 401, 'no valid claim \\"nbf\\"'],
    ['an issue in the future', { iat: 4_000_000_000, exp: 4_000_000_001 }, 401, 'it was issued in the future'],
    ['a key of its client', { cnf: { 'x5t#S256': 'x' } }, 401, 'it is bound to a key'],
    ['no subject', { sub: undefined }, 401, 'claim \\"sub\\"'],
    ['a subject that is no text', { sub: 7 }, 401, 'claim \\"sub\\"'],
    ['an empty subject', { sub: '' }, 401, 'claim \\"sub\\"'],
    ['a long subject', { sub: 'x'.repeat(256) }, 401, 'claim \\"sub\\"'],
    ['half a character in its subject', { sub: '\ud800' }, 401, 'claim \\"sub\\"'],
  ])('with %s are refused', async (_what, claims, expected, problem) => {
    const answer = await ask('/api/tools/list', issuer.token(claims))
    expect([answer.status, answer.text]).toEqual([expected, expect.stringContaining(problem)])
  })

  test('may differ from the clock of the server by 30 seconds', async () => {
    const now = Math.floor(Date.now() / 1000)
    expect(await status(issuer.token({ exp: now - 10 }))).toBe(200)
    expect(await status(issuer.token({ nbf: now + 10 }))).toBe(200)
    expect(await status(issuer.token({ exp: now - 60 }))).toBe(401)
    expect(await status(issuer.token({ nbf: now + 120 }))).toBe(401)
  })

  test('with another algorithm, type or signature are refused', async () => {
    const { kid, pem } = issuer.key
    const claims = JSON.parse(Buffer.from(issuer.token().split('.')[1] ?? '', 'base64url').toString()) as object
    const publicPem = createPublicKey(pem).export({ type: 'spki', format: 'pem' }) as string
    const hmac = (secret: string) => (text: string) => createHmac('sha256', secret).update(text).digest('base64url')
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const byOther = (text: string) =>
      sign('sha256', Buffer.from(text), { key: other, dsaEncoding: 'ieee-p1363' }).toString('base64url')
    const header = { typ: 'at+jwt', kid }
    const wrong = [
      signed({ ...header, alg: 'none' }, claims, () => ''),
      signed({ ...header, alg: 'none' }, claims, () => 'AA'),
      signed({ ...header, alg: 'HS256' }, claims, hmac(publicPem)),
      signed({ ...header, alg: 'HS256' }, claims, hmac('secret-of-the-page')),
      signed({ ...header, alg: 'ES256' }, claims, byOther),
      signed({ ...header, alg: 'RS256' }, claims, byOther),
      signed({ ...header, alg: 'RS256', jwk: other.export({ format: 'jwk' }) }, claims, byOther),
      issuer.token({}, { typ: 'logout+jwt' }),
      issuer.token({}, { alg: 'RS512' }),
      issuer.token({}, { kid: undefined, alg: 'ES256' }),
      issuer.token({}, { crit: ['exp'] }),
      issuer.token({ cnf: { jkt: 'x' } }),
      `${issuer.token().slice(0, -4)}AAAA`,
      issuer.token().replace(/\.[\w-]+\./, `.${Buffer.from('{}').toString('base64url')}.`),
    ]
    for (const [index, token] of wrong.entries()) expect([index, await status(token)]).toEqual([index, 401])
  })

  test('count only in the Authorization header', async () => {
    expect((await ask('/api/tools/list', undefined, { headers: { 'x-api-key': issuer.token() } })).status).toBe(401)
  })

  test('call tools as the user, over every API, and are never written to the log', async () => {
    const token = issuer.token({ sub: 'x y/ü' })
    const body = JSON.stringify({ tool_name: 'who', params: {} })
    const headers = { 'content-type': 'application/json' }
    expect(JSON.parse((await ask('/tools/execute', token, { method: 'POST', body, headers })).text)).toMatchObject({
      success: true,
    })
    expect((await ask('/v1/models', token)).status).toBe(200)
    server.installation.manager.getExecutor().flush()
    await server.installation.sink.flush()
    const { rows } = JSON.parse((await ask('/audit?type=call', token)).text) as { rows: { caller: string }[] }
    expect(rows[0]?.caller).toBe('user:acme/x%20y%2F%C3%BC')
    const limits = JSON.parse((await ask('/api/limits', token)).text) as {
      callers: { id: string; remaining: number }[]
    }
    expect(limits.callers.find(({ id }) => id === rows[0]?.caller)).toMatchObject({ remaining: 999 })
    await status(issuer.token({ aud: 'x' }))
    const written = JSON.stringify(server.log.lines) + JSON.stringify(await ask('/audit', token))
    expect(written).not.toContain('eyJ')
  })

  test('start jobs, which run with the rights of the user', async () => {
    const token = issuer.token()
    const headers = { 'content-type': 'application/json', prefer: 'respond-async' }
    const body = JSON.stringify({ tool_name: 'who', params: {} })
    const { id } = JSON.parse((await ask('/tools/execute', token, { method: 'POST', body, headers })).text)
    const ended = await vi.waitUntil(async () => JSON.parse((await ask(`/api/jobs/${id}`, token)).text).result)
    expect(ended).toMatchObject({ success: true, result: 'done' })
  })

  test('end the streams of their requests when they expire', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    // A second before the tolerance ends: the clock stands still.
    const token = issuer.token({ exp: Math.floor(Date.now() / 1000) - 28 })
    const headers = { authorization: `Bearer ${token}`, ...POST_HEADERS }
    const opened = await fetch(`${server.url}/mcp`, { method: 'POST', headers, body: JSON.stringify(INITIALIZE) })
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '', accept: 'text/event-stream' }
    await opened.text()
    const stream = await fetch(`${server.url}/mcp`, { headers: { authorization: `Bearer ${token}`, ...session } })
    expect(stream.status).toBe(200)
    await expect(stream.text()).rejects.toThrow()
  })

  test('and sessions of a user end when an administrator signs the user out', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const sub = 'mallory'
    const [token, unused, admin] = [issuer.token({ sub }), issuer.token({ sub }), issuer.token()]
    expect(await status(token)).toBe(200)
    const caller = server.installation.callers.byId('user:acme/mallory')
    const cookie = await server.app.authenticator.sessions.start(caller as Caller, { headers: {}, socket: {} } as never)
    const signedIn = { cookie: cookie.split(';')[0] ?? '' }
    const page = async () => (await ask('/api/tools/list', undefined, { headers: signedIn })).status
    expect(await page()).toBe(200)
    const users = async () => JSON.parse((await ask('/api/users', admin)).text).users as { id: string }[]
    expect(await users()).toContainEqual(expect.objectContaining({ id: 'user:acme/mallory', revoked_at: null }))
    const revoke = (id: string) =>
      ask('/api/users/revoke', admin, {
        method: 'POST',
        body: JSON.stringify({ id }),
        headers: { 'content-type': 'application/json' },
      })
    expect((await revoke('user:globex/mallory')).status).toBe(404)
    expect(await page()).toBe(200)
    expect((await revoke('user:acme/mallory')).status).toBe(204)
    const refused = await ask('/mcp', token, { method: 'POST' })
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('error=')])
    expect(await Promise.all([page(), status(unused), status(admin)])).toEqual([401, 401, 200])
    expect(server.installation.callers.isValid('user:acme/mallory')).toBe(false)
    expect((await users()).find(({ id }) => id === 'user:acme/mallory')).toMatchObject({
      revoked_at: expect.any(String),
    })
    vi.setSystemTime(Date.now() + 32_000)
    expect(await status(issuer.token({ sub }))).toBe(200)
    // New sessions and jobs find the user again.
    expect(server.installation.callers.isValid('user:acme/mallory')).toBe(true)
    expect([await page(), await status(token)]).toEqual([401, 401])
  })

  test('of one user in two tenants are two callers', async () => {
    const idOf = async (tenant: string) => JSON.parse((await ask('/api/session', issuer.token({ tenant }))).text).id
    expect(await idOf('globex')).toBe('user:globex/ada')
    expect(server.installation.callers.byId('user:acme/ada')).toMatchObject({ tenant: 'acme' })
  })

  test('of a new signing key are accepted, and a flood of unknown keys asks the issuer once a minute', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const old = issuer.token()
    expect(await status(old)).toBe(200)
    issuer.rotate()
    vi.setSystemTime(Date.now() + 61_000)
    const asked = issuer.asked('GET /jwks')
    expect(await status(issuer.token())).toBe(200)
    expect(await status(issuer.token({ sub: 'bob' }))).toBe(200)
    const flood = Array.from({ length: 30 }, (_, index) => status(issuer.token({}, { kid: `k${index}` })))
    expect(new Set(await Promise.all(flood))).toEqual(new Set([401]))
    expect(issuer.asked('GET /jwks')).toBe(asked + 1)
    // The old key is gone, and a token that was verified with it counts for five minutes at most.
    vi.setSystemTime(Date.now() + 300_000)
    expect(await status(old)).toBe(401)
  })

  test('are verified while another endpoint of the issuer fails', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    onTestFinished(() => {
      issuer.state.down = false
    })
    issuer.rotate()
    // Later than in the tests before.
    vi.setSystemTime(Date.now() + 1_000_000)
    issuer.state.down = '/token'
    const address = await new Browser().open(`${server.url}/api/session/oidc`)
    expect(address).toBe(`${server.url}/?sign_in=unavailable`)
    expect(await status(issuer.token())).toBe(200)
  })

  test('are verified with the last signing keys while the issuer fails, for an hour, and keys still work', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    onTestFinished(() => {
      issuer.state.down = false
    })
    expect(await status(issuer.token())).toBe(200)
    // The signing keys are read again after five minutes.
    vi.setSystemTime(Date.now() + 1_700_000)
    issuer.state.down = true
    const asked = issuer.asked('GET /jwks')
    expect([await status(issuer.token()), await status(issuer.token({}, { kid: 'other' }))]).toEqual([200, 401])
    expect([await status(key), issuer.asked('GET /jwks')]).toEqual([200, asked + 1])
    const failures = server.log.lines.filter(({ message }) => message === 'The OpenID Connect issuer failed')
    expect(failures.at(-1)?.fields).toMatchObject({ problem: 'it answered with status 503', endpoint: 'keys' })
    vi.setSystemTime(Date.now() + 3_600_000)
    const answers = [await ask('/api/tools/list', issuer.token()), await ask('/api/tools/list', issuer.token())]
    expect(answers.map((answer) => [answer.status, answer.text])).toEqual(
      answers.map(() => [503, expect.stringContaining('the issuer does not answer')]),
    )
    expect(await status(key)).toBe(200)
  })
})
