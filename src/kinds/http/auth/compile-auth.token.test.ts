import { expect, test } from 'vitest'
import { ManualClock } from '../../../testing/stand-ins.ts'
import type { HttpAuth } from '../definition/http-implementation.ts'
import type { OutgoingRequest } from '../exchange/outgoing-request.ts'
import { type AuthPlan, compileAuth } from './compile-auth.ts'
import { authParts } from './fixtures/auth-parts.ts'
import { oidcServer } from './fixtures/oidc-server.ts'
import { grant, tokenServer } from './fixtures/token-server.ts'
import { AccessTokens } from './token-source.ts'

const REQUEST: OutgoingRequest = {
  method: 'POST',
  origin: 'https://api.example.com',
  path: '/',
  headers: {},
  body: '{}',
}

const oauth = (token_url: string, more: object = {}): HttpAuth => ({
  type: 'oauth2',
  token_url,
  client_id: 'client',
  client_secret: 'secret-1234',
  ...more,
})

/** The token that a request of a tenant shows. */
async function shown(plan: AuthPlan, tenant = 'local'): Promise<string> {
  const { headers } = await plan.apply(REQUEST, tenant)
  return headers.authorization?.replace(/^Bearer /, '') ?? ''
}

test.each(['basic', 'body'] as const)(
  'a real server gives a token to a client that shows itself by %s',
  async (way) => {
    const { tokenUrl, clients, issued, asked } = await oidcServer()
    const { client_id, client_secret } = clients[way]
    const more = { client_id, client_secret, scope: 'read', audience: 'https://api.example.com', client_auth: way }
    const plan = compileAuth(oauth(tokenUrl, more), authParts())
    const token = await shown(plan)
    expect(await issued(token)).toMatchObject({ clientId: client_id, scope: 'read', aud: 'https://api.example.com' })
    expect(await shown(plan)).toBe(token)
    expect(asked()).toBe(1)
  },
)

test('explains what to check when a real server refuses the secret', async () => {
  const { tokenUrl, clients } = await oidcServer()
  const { client_id } = clients.basic
  const plan = compileAuth(oauth(tokenUrl, { client_id, client_secret: 'not the secret' }), authParts())
  await expect(shown(plan)).rejects.toMatchObject({
    code: 'EXECUTION_ERROR',
    message: `Tool 'weather' got no access token: the token server '${new URL(tokenUrl).host}' answered 401 Unauthorized (invalid_client). Check auth.client_id and auth.client_secret, and whether auth.client_auth should be "body".`,
    repeat: undefined,
  })
})

test('a real server refuses a scope that the client may not have', async () => {
  const { tokenUrl, clients } = await oidcServer()
  const { client_id, client_secret } = clients.basic
  const audience = 'https://api.example.com'
  const plan = compileAuth(oauth(tokenUrl, { client_id, client_secret, audience, scope: 'write' }), authParts())
  await expect(shown(plan)).rejects.toMatchObject({
    code: 'EXECUTION_ERROR',
    message: expect.stringContaining('answered 400 Bad Request (invalid_scope). Check auth.scope.'),
  })
})

test('sends the secret in the header or the form, and only configured parameters', async () => {
  const { url, received } = await tokenServer(grant)
  await shown(compileAuth(oauth(`${url}?tenant=1#top`), authParts()))
  const inForm = { client_auth: 'body', scope: 'a b', audience: 'x' }
  await shown(compileAuth(oauth(url, inForm), authParts()))
  const [first, second] = received
  expect(first).toMatchObject({
    path: '/token?tenant=1',
    headers: { authorization: `Basic ${btoa('client:secret%2D1234')}`, accept: 'application/json' },
  })
  expect(first?.form).toEqual({ grant_type: 'client_credentials' })
  expect(second?.headers.authorization).toBeUndefined()
  expect(second?.form).toEqual({
    grant_type: 'client_credentials',
    client_id: 'client',
    client_secret: 'secret-1234',
    scope: 'a b',
    audience: 'x',
  })
})

test('once a token is there nothing waits, and the request given stays as it was', async () => {
  const { url } = await tokenServer(grant)
  const plan = compileAuth(oauth(url), authParts())
  expect(plan.apply(REQUEST, 'local')).toBeInstanceOf(Promise)
  await shown(plan)
  expect(plan.apply({ ...REQUEST, headers: { accept: 'x' } }, 'local')).toMatchObject({
    method: 'POST',
    body: '{}',
    headers: { accept: 'x', authorization: 'Bearer access-token-1' },
  })
  expect(REQUEST.headers).toEqual({})
})

test('each tenant has a token of its own', async () => {
  const { url, received } = await tokenServer(grant)
  const plan = compileAuth(oauth(url), authParts())
  const tokens = []
  for (const tenant of ['a', 'b', 'a', 'b', '__proto__']) tokens.push(await shown(plan, tenant))
  expect(tokens).toEqual(['access-token-1', 'access-token-2', 'access-token-1', 'access-token-2', 'access-token-3'])
  expect(received).toHaveLength(3)
})

test('tools that are the same client use the same tokens; any other setting makes another client', async () => {
  const { url, received } = await tokenServer(grant)
  const tokens = new AccessTokens(new ManualClock())
  const same = () => compileAuth(oauth(url), authParts({ tokens }))
  expect([await shown(same()), await shown(same())]).toEqual(['access-token-1', 'access-token-1'])
  const others = [
    { scope: 'a' },
    { audience: 'a' },
    { client_id: 'a' },
    { client_secret: 'secret-5678' },
    { client_auth: 'body' },
    { token_url: `${url}?a` },
  ]
  for (const other of others) await shown(compileAuth(oauth(url, other), authParts({ tokens })))
  expect(received).toHaveLength(1 + others.length)
})

test.each([
  ['ten minutes, less half a minute', { expires_in: 600 }, 570_000],
  ['ten minutes, given as text', { expires_in: '600' }, 570_000],
  ['ten seconds, less one', { expires_in: 10 }, 9_000],
  ['what is usual, where the server does not say', {}, 270_000],
])('a token is used for %s', async (_, more, goodForMs) => {
  const { url } = await tokenServer((response, n) => grant(response, n, more))
  const clock = new ManualClock()
  const plan = compileAuth(oauth(url), authParts({ clock }))
  await shown(plan)
  clock.advance(goodForMs - 1)
  expect(await shown(plan)).toBe('access-token-1')
  clock.advance(1)
  expect(await shown(plan)).toBe('access-token-2')
})

test('a token that lives for no time serves the call that it was got for, and no other', async () => {
  const { url, received } = await tokenServer((response, n) => grant(response, n, { expires_in: 0 }))
  const plan = compileAuth(oauth(url), authParts())
  const sent = await plan.apply(REQUEST, 'local')
  expect(sent.headers.authorization).toBe('Bearer access-token-1')
  expect(plan.refused(sent, 'local')).toBe(false)
  expect(await shown(plan)).toBe('access-token-2')
  expect(received).toHaveLength(2)
})

test('the life of a token begins when it is asked for, not when it comes', async () => {
  const clock = new ManualClock()
  const { url } = await tokenServer((response, n) => {
    clock.advance(5_000)
    grant(response, n, { expires_in: 10 })
  })
  const plan = compileAuth(oauth(url), authParts({ clock }))
  await shown(plan)
  clock.advance(3_999)
  expect(await shown(plan)).toBe('access-token-1')
  clock.advance(1)
  expect(await shown(plan)).toBe('access-token-2')
})

test('replaces a used token after a 401 and repeats the request', async () => {
  const { url } = await tokenServer(grant)
  const plan = compileAuth(oauth(url), authParts())
  await shown(plan)
  const sent = await plan.apply(REQUEST, 'local')
  expect(plan.refused(sent, 'local')).toBe(true)
  const again = await plan.apply(REQUEST, 'local')
  expect(again.headers.authorization).toBe('Bearer access-token-2')
  expect(await shown(plan)).toBe('access-token-2')
})

test('after a 401 to a token that was got for that very request there is nothing to repeat', async () => {
  const { url } = await tokenServer(grant)
  const plan = compileAuth(oauth(url), authParts())
  const sent = await plan.apply(REQUEST, 'local')
  expect(plan.refused(sent, 'local')).toBe(false)
  expect(await shown(plan)).toBe('access-token-2')
})

test('a late 401 to an old token takes away neither the new one nor the token of another tenant', async () => {
  const { url, received } = await tokenServer(grant)
  const plan = compileAuth(oauth(url), authParts())
  await shown(plan, 'a')
  await shown(plan, 'b')
  const [one, other] = [await plan.apply(REQUEST, 'a'), await plan.apply(REQUEST, 'a')]
  expect(plan.refused(one, 'a')).toBe(true)
  expect(await shown(plan, 'a')).toBe('access-token-3')
  expect(plan.refused(other, 'a')).toBe(true)
  expect([await shown(plan, 'a'), await shown(plan, 'b')]).toEqual(['access-token-3', 'access-token-2'])
  expect(received).toHaveLength(3)
})

test('neither the token that was sent nor the secret of the client comes back in an answer', async () => {
  const { url } = await tokenServer(grant)
  const parts = authParts()
  parts.secrets.add('another-secret')
  const plan = compileAuth(oauth(url), parts)
  const sent = await plan.apply(REQUEST, 'local')
  const echo = { seen: 'Bearer access-token-1', secret: 'secret-1234', 'another-secret': [btoa('access-token-1')] }
  expect(plan.secretsOf(sent).scrubValue(echo)).toEqual({
    seen: 'Bearer [redacted]',
    secret: '[redacted]',
    '[redacted]': ['[redacted]'],
  })
  expect(plan.secretsOf(sent)).toBe(plan.secretsOf(await plan.apply(REQUEST, 'local')))
  expect(plan.secretsOf(REQUEST).isIn('secret-1234')).toBe(true)
})

test('names that tenants make up do not fill the memory', async () => {
  let asked = 0
  const ask = async () => {
    const body = Buffer.from(JSON.stringify({ access_token: `access-token-${++asked}`, token_type: 'bearer' }))
    return { status: 200, headers: {}, body, origin: 'https://login.example.com', path: '/token' }
  }
  const plan = compileAuth(oauth('https://login.example.com/token'), { ...authParts(), ask })
  await Promise.all(Array.from({ length: 1_001 }, (_, n) => plan.apply(REQUEST, `tenant ${n}`)))
  await shown(plan, 'tenant 1000')
  expect(asked).toBe(1_001)
  await shown(plan, 'tenant 0')
  expect(asked).toBe(1_002)
})
