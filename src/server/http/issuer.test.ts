import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Config } from '../../config/config.ts'
import { openIssuer, signed } from '../fixtures/open-issuer.ts'
import type { TestServer } from '../fixtures/open-server.ts'
import { openTestServer } from '../fixtures/open-server.ts'
import { toolConfig } from '../fixtures/open-tool-server.ts'

let issuer: Awaited<ReturnType<typeof openIssuer>>
let server: TestServer
let key: string

const ROLES = { owner: { scopes: ['read', 'observe', 'installation'] } } as const

beforeAll(async () => {
  issuer = await openIssuer()
  const { config, handlers } = toolConfig({ who: { run: async () => 'done' } })
  const auth: Config['auth'] = { oidc: issuer.settings }
  server = await openTestServer({ ...config, roles: ROLES, auth, limits: { calls_per_minute: 1_000 } }, { handlers })
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
    ['no end', { exp: undefined }, 401, 'its form or its signature is wrong'],
    ['a subject that is no text', { sub: 7 }, 401, 'its form or its signature is wrong'],
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
      issuer.token({}, { typ: 'JWT' }),
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
    expect((await ask('/tools/execute', token, { method: 'POST', body, headers })).status).toBe(200)
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
  test('are refused with 503 while the issuer fails, and keys still work', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    // The signing keys are read again after five minutes.
    vi.setSystemTime(Date.now() + 700_000)
    issuer.state.down = true
    const asked = issuer.asked('GET /jwks')
    const answers = [await ask('/api/tools/list', issuer.token()), await ask('/api/tools/list', issuer.token())]
    expect(answers.map((answer) => [answer.status, answer.text])).toEqual(
      answers.map(() => [503, expect.stringContaining('the issuer does not answer')]),
    )
    expect([await status(key), issuer.asked('GET /jwks')]).toEqual([200, asked + 1])
    expect(server.log.at('warn').at(-1)).toMatchObject({ problem: 'it answered with status 503' })
    issuer.state.down = false
  })
})
