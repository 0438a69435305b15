import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { OidcConfig } from '../../config/service-schema.ts'
import { openIssuer } from '../fixtures/open-issuer.ts'
import { openTestServer } from '../fixtures/open-server.ts'
import { TOKEN_SHAPES } from '../fixtures/token-shapes.ts'

let issuer: Awaited<ReturnType<typeof openIssuer>>

beforeAll(async () => {
  issuer = await openIssuer()
})
afterAll(() => issuer.close())

/** A server that accepts users of the issuer with these settings. */
async function open(settings: Partial<OidcConfig>) {
  const roles = { 'tool-admins': 'admin', operators: 'operator' }
  const oidc = { ...issuer.settings, roles, ...settings }
  const server = await openTestServer({ auth: { oidc } })
  const ask = async (token: string, path = '/api/session') => {
    const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } })
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
  return {
    ask,
    /** What operators read of the last token that was refused. */
    logged: () => server.log.lines.findLast(({ message }) => message === 'A token was refused')?.fields,
    server,
  }
}

/** The same, until the end of the test. */
async function openFor(settings: Partial<OidcConfig>) {
  const opened = await open(settings)
  onTestFinished(() => opened.server.close())
  return opened
}

describe.each(Object.entries(TOKEN_SHAPES))('%s', (_name, { settings, user, access, program, idTokens }) => {
  test('access tokens of users and of programs are accepted', async () => {
    const { ask } = await openFor(settings)
    const answer = await ask(issuer.plain(access.claims, access.header))
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, expect.objectContaining(user)])
    const other = await ask(issuer.plain(program.claims, program.header))
    expect([other.status, JSON.parse(other.text)]).toEqual([
      200,
      expect.objectContaining({ id: program.id, role: 'admin' }),
    ])
  })

  test('ID tokens are refused, even with the client of the web UI among the audiences', async () => {
    const audience = [settings.audience ?? [], 'page'].flat()
    const { ask, logged } = await openFor({ ...settings, audience })
    for (const [index, { claims, header }] of idTokens.entries()) {
      const answer = await ask(issuer.plain(claims, header), '/api/tools/list')
      expect([index, answer.status]).toEqual([index, 401])
      expect(logged()).toMatchObject({ problem: expect.stringMatching(/ID token|not an access token/) })
    }
  })

  test('access tokens are refused by "tokens": "rfc9068"', async () => {
    const { ask, logged } = await openFor({ ...settings, tokens: 'rfc9068' })
    expect((await ask(issuer.plain(access.claims, access.header), '/api/tools/list')).status).toBe(401)
    expect(logged()).toMatchObject({ header: 'typ', expected: 'at+jwt' })
  })
})

describe('the log', () => {
  const access = { aud: 'https://tools.example.com', azp: 'cli', sub: 'ada', tenant: 'acme', roles: ['tool-admins'] }
  const header = { typ: 'JWT' }
  let opened: Awaited<ReturnType<typeof open>>

  beforeAll(async () => {
    opened = await open({})
  })
  afterAll(() => opened.server.close())

  test.each<[string, object | (() => object), object, object]>([
    ['another audience', { aud: ['a', 'b'] }, {}, { claim: 'aud', expected: [access.aud], actual: ['a', 'b'] }],
    ['the audience of ID tokens', { aud: 'page' }, {}, { claim: 'aud', problem: expect.stringContaining('ID token') }],
    ['no audience', { aud: undefined }, {}, { claim: 'aud', expected: [access.aud] }],
    ['another issuer', { iss: 'https://sts.example.com/' }, {}, { claim: 'iss', actual: 'https://sts.example.com/' }],
    ['an issuer with a slash', () => ({ iss: `${issuer.issuer}/` }), {}, { claim: 'iss' }],
    ['no client', { azp: undefined }, {}, { claim: expect.arrayContaining(['azp', 'appid', 'cid', 'client_id']) }],
    ['a nonce', { nonce: 'secret-1' }, {}, { claim: 'nonce' }],
    ['a hash of a code', { c_hash: 'secret-1' }, {}, { claim: 'c_hash' }],
    ['an event', { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }, {}, { claim: 'events' }],
    ['the use of a refresh token', { token_use: 'refresh' }, {}, { claim: 'token_use', actual: 'refresh' }],
    ['the type of a refresh token', { typ: 'Refresh' }, {}, { claim: 'typ', actual: 'Refresh' }],
    ['a use in a list', { token_use: ['access'] }, {}, { claim: 'token_use' }],
    ['a use that is no text', { token_use: ['access', 'id'] }, {}, { claim: 'token_use' }],
    ['an end that has passed', { exp: 1_700_000_000 }, {}, { claim: 'exp', actual: 1_700_000_000 }],
    ['a start in the future', { nbf: 4_000_000_000 }, {}, { claim: 'nbf', expected: expect.any(Number) }],
    ['a bound key', { cnf: { jkt: 'x' } }, {}, { claim: 'cnf' }],
    ['no tenant', { tenant: undefined }, {}, { claim: 'tenant' }],
    [
      'no role',
      { roles: ['guests'] },
      {},
      { claim: 'roles', expected: ['tool-admins', 'operators'], actual: ['guests'] },
    ],
    ['no subject', { sub: undefined }, {}, { claim: 'sub' }],
    ['another algorithm', {}, { alg: 'HS256' }, { header: 'alg', actual: 'HS256' }],
    ['another key', {}, { kid: 'other' }, { header: 'kid', actual: 'other' }],
    ['another type', {}, { typ: 'secevent+jwt' }, { header: 'typ', actual: 'secevent+jwt' }],
    ['a type in a list', {}, { typ: ['JWT'] }, { header: 'typ', actual: ['JWT'] }],
    [
      'an empty scope and no client',
      { azp: '', scope: '', scp: [] },
      {},
      { problem: expect.stringContaining('a scope') },
    ],
    ['a scope that is no text', { azp: 7, scope: true }, {}, { problem: expect.stringContaining('a scope') }],
    ['a type that is no text', {}, { typ: { a: 1 } }, { header: 'typ', actual: 'an object' }],
    ['a critical extension', {}, { crit: ['exp'] }, { header: 'crit' }],
    ['a long value', { iss: 'x'.repeat(4_000) }, {}, { claim: 'iss', actual: expect.stringMatching(/^x{79}…$/) }],
  ])('names the check that refused a token with %s, and never the token', async (_what, claims, more, expected) => {
    const { ask, logged, server } = opened
    const changed = typeof claims === 'function' ? claims() : claims
    const token = issuer.plain({ ...access, ...changed }, { ...header, ...more })
    const answer = await ask(token, '/api/tools/list')
    expect([401, 403]).toContain(answer.status)
    if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
    expect(logged()).toMatchObject(expected)
    const written = JSON.stringify(server.log.lines)
    for (const secret of [...token.split('.'), 'secret-1']) expect(written).not.toContain(secret)
    // The answer doesn't say what would be right.
    expect(answer.text).not.toContain(access.aud)
  })

  test('tells strangers and operators nothing of the claims of a token with a wrong signature', async () => {
    const { ask, logged } = opened
    const token = `${issuer.plain({ ...access, aud: 'other' }, header).slice(0, -4)}AAAA`
    expect(await ask(token, '/api/tools/list')).toMatchObject({ status: 401 })
    expect(logged()).toEqual({
      problem: 'its signature is wrong',
      header: 'kid',
      actual: issuer.key.kid,
      issuer: issuer.issuer,
    })
  })
})

describe('roles', () => {
  const access = { aud: 'https://tools.example.com', azp: 'cli', sub: 'ada', tenant: 'acme' }

  test('come from several claims, in the order of the configuration', async () => {
    const { ask } = await openFor({ role_claim: ['roles', 'resource_access.tools.example.com.roles', 'scope'] })
    const roleOf = async (claims: object) =>
      JSON.parse((await ask(issuer.plain({ ...access, ...claims }))).text).role as string | undefined
    const deep = { resource_access: { 'tools.example.com': { roles: ['operators'] } } }
    expect(await roleOf(deep)).toBe('operator')
    expect(await roleOf({ ...deep, scope: 'openid tool-admins' })).toBe('admin')
    expect(await roleOf({ roles: { 'tool-admins': true } })).toBeUndefined()
  })

  test('that the issuer has left out are named', async () => {
    const { ask } = await openFor({ role_claim: 'groups' })
    const left = { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://graph.example' } } }
    const answer = await ask(issuer.plain({ ...access, ...left }), '/api/tools/list')
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('has left out its claim \\"groups\\"')])
  })
})

test('a user is known by another claim, if one is configured', async () => {
  const access = { aud: 'https://tools.example.com', azp: 'cli', sub: 'pairwise', tenant: 'acme', roles: 'tool-admins' }
  const { ask } = await openFor({ user_claim: 'oid' })
  const answer = await ask(issuer.plain({ ...access, oid: 'ada' }))
  expect(JSON.parse(answer.text)).toMatchObject({ id: 'user:acme/ada' })
  expect((await ask(issuer.plain(access), '/api/tools/list')).status).toBe(401)
})

test('an access token by RFC 9068 may have the audience of the web UI, and one without that type may not', async () => {
  const claims = { aud: 'page', client_id: 'page', jti: '1', sub: 'ada', tenant: 'acme', roles: 'tool-admins' }
  for (const tokens of ['jwt', 'rfc9068'] as const) {
    const { ask } = await openFor({ audience: 'page', tokens })
    const status = async (typ: unknown) => (await ask(issuer.plain(claims, { typ }), '/api/tools/list')).status
    expect([await status('at+jwt'), await status('JWT'), await status(['at+jwt'])]).toEqual([200, 401, 401])
  }
})

test.each(['sub', 'client_id', 'jti', 'iat', 'aud'])('"tokens": "rfc9068" needs the claim "%s"', async (claim) => {
  const { ask, logged } = await openFor({ tokens: 'rfc9068' })
  const usual = { jti: '1', client_id: 'page', sub: 'ada', tenant: 'acme', roles: 'tool-admins' }
  const status = async (more: object) => {
    const token = issuer.plain({ ...usual, aud: 'https://tools.example.com', ...more }, { typ: 'at+jwt' })
    return (await ask(token, '/api/tools/list')).status
  }
  expect([await status({}), await status({ [claim]: undefined })]).toEqual([200, 401])
  expect(logged()).toMatchObject({ claim })
})
