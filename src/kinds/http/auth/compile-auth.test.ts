import { expect, test } from 'vitest'
import type { HttpAuth } from '../definition/http-implementation.ts'
import type { OutgoingRequest } from '../exchange/outgoing-request.ts'
import { type AuthPlan, compileAuth } from './compile-auth.ts'
import { authParts } from './fixtures/auth-parts.ts'

const REQUEST: OutgoingRequest = {
  method: 'GET',
  origin: 'https://api.example.com',
  path: '/things',
  headers: { accept: 'application/json' },
}

const compiled = (auth: HttpAuth | undefined): AuthPlan => compileAuth(auth, authParts())

function sent(auth: HttpAuth | undefined, request = REQUEST): OutgoingRequest {
  const result = compiled(auth).apply(request, 'local')
  if (result instanceof Promise) throw new Error('It made the call wait')
  return result
}

/** The sentence that an authentication is refused with. */
function problem(auth: HttpAuth): string {
  try {
    compiled(auth)
  } catch (error) {
    expect(error).toMatchObject({ name: 'ToolExecutionError', code: 'EXECUTION_ERROR' })
    return (error as Error).message
  }
  throw new Error('It was not refused')
}

test('without authentication the very request goes out', () => {
  expect(sent(undefined)).toBe(REQUEST)
  expect(compiled(undefined).refused(REQUEST, 'local')).toBe(false)
})

test('a bearer token goes into its header, beside the others, and the request given stays as it was', () => {
  expect(sent({ type: 'bearer', token: 'token-1234' })).toEqual({
    ...REQUEST,
    headers: { accept: 'application/json', authorization: 'Bearer token-1234' },
    credentials: ['authorization'],
  })
  expect(REQUEST.headers).toEqual({ accept: 'application/json' })
})

test('a user and a password go into a header as base64 of UTF-8', () => {
  const { headers } = sent({ type: 'basic', username: 'Zoë', password: 'pass:wörd' })
  expect(headers.authorization).toBe(`Basic ${Buffer.from('Zoë:pass:wörd', 'utf8').toString('base64')}`)
})

test('a key goes into the header of its name, which stays with the origin like other credentials', () => {
  const key = { type: 'api_key', in: 'header', name: 'X-Api-Key', value: 'key-1234' } as const
  expect(sent(key)).toMatchObject({ headers: { 'x-api-key': 'key-1234' }, credentials: ['x-api-key'] })
  expect(sent(key, { ...REQUEST, credentials: ['x-other'] }).credentials).toEqual(['x-other', 'x-api-key'])
})

test.each([
  ['/things', '/things?a%20key=1%2B1%3D2%26x%23%20y'],
  ['/things?page=2', '/things?page=2&a%20key=1%2B1%3D2%26x%23%20y'],
])('a key goes into the query of %s as one parameter, whatever is in it', (path, expected) => {
  const auth = { type: 'api_key', in: 'query', name: 'a key', value: '1+1=2&x# y' } as const
  const request = sent(auth, { ...REQUEST, path })
  expect(request.path).toBe(expected)
  expect(new URL(request.path, 'http://x').searchParams.get('a key')).toBe('1+1=2&x# y')
  expect(request.headers).toBe(REQUEST.headers)
})

test.each<[HttpAuth, string]>([
  [{ type: 'bearer', token: 'token-1234' }, 'you sent token-1234'],
  [{ type: 'api_key', in: 'header', name: 'k', value: 'key-1234' }, 'you sent key-1234'],
  [{ type: 'api_key', in: 'query', name: 'k', value: 'key/1234' }, 'you asked for ?k=key%2F1234'],
  [{ type: 'basic', username: 'ada', password: 'pass-1234' }, 'you sent pass-1234'],
  [{ type: 'basic', username: 'ada', password: 'pw' }, `Basic ${Buffer.from('ada:pw').toString('base64')}`],
  [{ type: 'basic', username: 'key-as-user', password: '' }, 'Unknown user key-as-user'],
])('removes credentials from responses: %j', (auth, text) => {
  const plan = compiled(auth)
  const secrets = plan.secretsOf(REQUEST)
  expect(secrets.isIn(text)).toBe(true)
  expect(secrets.scrub(text)).toContain('[redacted]')
  expect(plan.refused(REQUEST, 'local')).toBe(false)
})

test('does not treat the user name as a secret if there is a password', () => {
  const secrets = compiled({ type: 'basic', username: 'administrator', password: 'pass-1234' }).secretsOf(REQUEST)
  expect(secrets.isIn('Hello administrator')).toBe(false)
})

test.each<[HttpAuth, string]>([
  [{ type: 'bearer', token: 'secret-1234\n' }, 'auth.token contains a line break'],
  [
    { type: 'bearer', token: 'secret-1234…' },
    'auth.token contains a line break or another character that is not allowed in a header',
  ],
  [{ type: 'bearer', token: '' }, 'auth.token is empty'],
  [{ type: 'api_key', in: 'header', name: 'x-key', value: 'secret-1234\r\nx: y' }, 'auth.value contains a line break'],
  [{ type: 'api_key', in: 'header', name: 'x key', value: 'secret-1234' }, 'auth.name is not the name of a header'],
  [{ type: 'api_key', in: 'header', name: 'Host', value: 'secret-1234' }, 'auth.name is a header of the connection'],
  [{ type: 'api_key', in: 'query', name: 'key', value: '' }, 'auth.value is empty'],
  [{ type: 'basic', username: 'a:b', password: 'secret-1234' }, 'auth.username contains a colon'],
  [{ type: 'basic', username: 'ada', password: 'secret-1234\n' }, 'auth.password contains a line break'],
  [
    { type: 'digest', token: 'secret-1234' } as never,
    'auth.type must be "bearer", "api_key", "basic", "oauth2" or "user_oauth"',
  ],
])('rejects unsendable settings without quoting them: %j', (auth, sentence) => {
  expect(problem(auth)).toContain(`Tool 'weather' cannot authenticate: implementation.${sentence}`)
  expect(problem(auth)).not.toContain('secret-1234')
})

const CLIENT = {
  type: 'oauth2',
  token_url: 'http://127.0.0.1:9/token',
  client_id: 'id',
  client_secret: 'secret',
} as const

test.each<[string, HttpAuth, string]>([
  ['no address', { ...CLIENT, token_url: 'login/token' }, 'auth.token_url is not an address'],
  ['another scheme', { ...CLIENT, token_url: 'file:///etc/passwd' }, 'auth.token_url is not an address'],
  ['a user in it', { ...CLIENT, token_url: 'https://a:secret-1234@example.com/' }, 'auth.token_url contains a user'],
  ['no client', { ...CLIENT, client_id: '' }, 'auth.client_id is empty'],
  ['a line break', { ...CLIENT, client_secret: 'secret-1234\n' }, 'auth.client_secret contains a line break'],
])('a client that cannot get tokens is refused when it is read: %s', (_, auth, sentence) => {
  expect(problem(auth)).toContain(`implementation.${sentence}`)
  expect(problem(auth)).not.toContain('secret-1234')
})

test('requests tokens only from allowed hosts', () => {
  const inside = { ...CLIENT, token_url: 'http://10.0.0.1/token' }
  expect(problem(inside)).toMatch(/^Tool 'weather' got no access token: .*10\.0\.0\.1/)
  const parts = authParts({ allowed_domains: ['api.example.com'] })
  const outside = { ...CLIENT, token_url: 'https://login.example.com/token' }
  expect(() => compileAuth(outside, parts)).toThrow("The host 'login.example.com' was refused")
  expect(() => compileAuth(outside, authParts())).not.toThrow()
})
