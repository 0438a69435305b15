import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { ToolExecutionError } from '../../../core/tool-result.ts'
import type { HttpAuth } from '../definition/http-implementation.ts'
import type { OutgoingRequest } from '../exchange/outgoing-request.ts'
import { type AuthParts, compileAuth } from './compile-auth.ts'
import { authParts } from './fixtures/auth-parts.ts'
import { grant, json, tokenServer } from './fixtures/token-server.ts'

const SECRET = 'secret-1234'
const REQUEST: OutgoingRequest = {
  method: 'POST',
  origin: 'https://api.example.com',
  path: '/',
  headers: {},
  body: '{}',
}

const oauth = (token_url: string, client_auth: 'basic' | 'body' = 'body'): HttpAuth => ({
  type: 'oauth2',
  token_url,
  client_id: 'client',
  client_secret: SECRET,
  client_auth,
})

/** What a call fails with for lack of a token. */
async function failure(url: string, parts: AuthParts = authParts()): Promise<ToolExecutionError> {
  const error = await Promise.resolve(compileAuth(oauth(url), parts).apply(REQUEST, 'local')).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ToolExecutionError)) throw new Error('It did not fail as it should', { cause: error })
  expect(`${error.message} ${error.stack} ${JSON.stringify(error.cause ?? null)}`).not.toContain(SECRET)
  return error
}

const NEVER_LEFT = { neverLeft: true }

test.each([500, 502, 503, 599])(
  'status %i of the token server: unavailable, and nothing of the call has left',
  async (status) => {
    const { url, host } = await tokenServer((response) => json(response, { error: 'invalid_client' }, status))
    const error = await failure(url)
    expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', extras: {}, repeat: NEVER_LEFT })
    expect(error.message).toContain(`Tool 'weather' got no access token: the token server '${host}' answered ${status}`)
  },
)

test('a token server that is not there: unavailable, and no address that the operator did not write', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.on('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  expect(await failure(`http://127.0.0.1:${port}/token`)).toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    message: `Tool 'weather' got no access token: the token server '127.0.0.1:${port}' is unavailable. Try again later.`,
    extras: {},
    repeat: NEVER_LEFT,
  })
})

test('a token server that hangs up in the middle: unavailable, and a write may still be tried again', async () => {
  const { url } = await tokenServer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"access_token":')
    response.socket?.end()
  })
  expect(await failure(url)).toMatchObject({ code: 'SERVICE_UNAVAILABLE', extras: {}, repeat: NEVER_LEFT })
})

test('a token server that does not answer: the time limit of the request holds', async () => {
  const { url, host } = await tokenServer(() => {})
  expect(await failure(url, authParts({ timeoutMs: 50 }))).toMatchObject({
    code: 'TIMEOUT',
    message: `Tool 'weather' got no access token: the token server '${host}' did not answer in time.`,
    extras: {},
    repeat: NEVER_LEFT,
  })
})

test('an answer that is larger than a token can be is not read to its end', async () => {
  const { url, host } = await tokenServer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = (): void => {
      // A callback can come at once: without a pause, the server never learns that the client has gone.
      if (!response.destroyed) response.write('x'.repeat(10_000), () => setImmediate(more))
    }
    more()
  })
  expect(await failure(url)).toMatchObject({
    code: 'EXECUTION_ERROR',
    message: `Tool 'weather' got no access token: the answer of the token server '${host}' is larger than a token can be.`,
    extras: {},
  })
})

test.each([
  ['invalid_client', 401, 'Check auth.client_id and auth.client_secret'],
  ['invalid_client', 400, 'Check auth.client_id and auth.client_secret'],
  ['unauthorized_client', 400, 'Check that this client may use the grant "client_credentials".'],
  ['invalid_scope', 400, 'Check auth.scope.'],
  ['invalid_target', 400, 'Check auth.audience.'],
])('explains %s with status %i without quoting the server', async (error, status, advice) => {
  const { url, host } = await tokenServer((response, _, { form }) => {
    response.setHeader('www-authenticate', 'Basic realm="tokens"')
    json(response, { error, error_description: `wrong: ${form.client_secret}` }, status)
  })
  const { code, message, repeat } = await failure(url)
  expect([code, repeat]).toEqual(['EXECUTION_ERROR', undefined])
  expect(message).toContain(`the token server '${host}' answered ${status}`)
  expect(message).toContain(`(${error}). ${advice}`)
  expect(message).not.toContain('wrong')
})

test('a reason that no standard knows is not repeated: it may be anything', async () => {
  const { url } = await tokenServer((response, _, { form }) => json(response, { error: form.client_secret }, 400))
  const { code, message } = await failure(url)
  expect(code).toBe('EXECUTION_ERROR')
  expect(message).toMatch(/answered 400 Bad Request\. Check the settings under auth\.$/)
})

test.each([401, 403, 404])('status %i with a page instead of JSON', async (status) => {
  const { url } = await tokenServer((response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end('<p>'),
  )
  expect(await failure(url)).toMatchObject({
    code: 'EXECUTION_ERROR',
    message: expect.stringContaining(`answered ${status}`),
  })
})

test.each([429, 408])('status %i is retryable and does not count as a failure of the service', async (status) => {
  const { url } = await tokenServer((response) => json(response, {}, status))
  expect(await failure(url)).toMatchObject({ code: 'EXECUTION_ERROR', repeat: NEVER_LEFT })
})

test.each([301, 302, 303, 307, 308])('the secret is not sent on with a redirect (%i)', async (status) => {
  const elsewhere = await tokenServer(grant)
  const { url, host, received } = await tokenServer((response) =>
    response.writeHead(status, { location: elsewhere.url }).end(),
  )
  const { code, message } = await failure(url)
  expect([code, message]).toEqual(['EXECUTION_ERROR', expect.stringContaining(`'${host}' answered ${status}`)])
  expect(message).toContain('Write the final address into auth.token_url.')
  expect([received.length, elsewhere.received.length]).toEqual([1, 0])
})

test.each<[string, unknown]>([
  ['no token', { token_type: 'bearer' }],
  ['a token that is no text', { access_token: 7, token_type: 'bearer' }],
  ['an empty token', { access_token: '', token_type: 'bearer' }],
  ['a token with a line break', { access_token: 'access\r\nx: y', token_type: 'bearer' }],
  ['a token that no header can carry', { access_token: 'tökén', token_type: 'bearer' }],
  ['a token that is too long for a header', { access_token: 'x'.repeat(16_001), token_type: 'bearer' }],
  ['no type', { access_token: 'access-token' }],
  ['another type', { access_token: 'access-token', token_type: 'mac' }],
  ['a type that needs a proof', { access_token: 'access-token', token_type: 'DPoP' }],
  ['a life below zero', { access_token: 'access-token', token_type: 'bearer', expires_in: -1 }],
  ['a life that is no number', { access_token: 'access-token', token_type: 'bearer', expires_in: 'soon' }],
  ['a list', [{ access_token: 'access-token', token_type: 'bearer' }]],
  ['null', null],
])('an answer with %s gives no token', async (_, body) => {
  const { url, host } = await tokenServer((response) => json(response, body))
  expect(await failure(url)).toMatchObject({
    code: 'EXECUTION_ERROR',
    message: `Tool 'weather' got no access token: the token server '${host}' answered 200 with no bearer token that can be used. Check auth.token_url.`,
  })
})

test.each([
  ['nothing', ''],
  ['half of it', '{"access_token":"access-token","token_type":"bearer"'],
  ['a page', '<!doctype html>'],
])('rejects a token response that is not JSON: %s', async (_, text) => {
  const { url } = await tokenServer((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(text),
  )
  expect(await failure(url)).toMatchObject({ code: 'EXECUTION_ERROR' })
})

test('an answer with status 204 gives no token', async () => {
  const { url } = await tokenServer((response) => response.writeHead(204).end())
  expect((await failure(url)).message).toContain('answered 204 with no bearer token')
})

test('JSON that is not called so gives a token all the same', async () => {
  const { url } = await tokenServer((response) => response.end('{"access_token":"access-token","token_type":"BEARER"}'))
  const { headers } = await compileAuth(oauth(url), authParts()).apply(REQUEST, 'local')
  expect(headers.authorization).toBe('Bearer access-token')
})

test('ignores other fields of the response', async () => {
  const more = { expires_in: null, refresh_token: null, scope: null, id_token: 'e30.e30.' }
  const { url } = await tokenServer((response, n) => grant(response, n, more))
  const { headers } = await compileAuth(oauth(url), authParts()).apply(REQUEST, 'local')
  expect(headers.authorization).toBe('Bearer access-token-1')
})

test('refuses a host with a private address, like every other request', async () => {
  const { code, message } = await failure('http://localhost:9/token', authParts({ allow_private: [] }))
  expect(code).toBe('EXECUTION_ERROR')
  expect(message).toMatch(/^Tool 'weather' got no access token: .*'localhost'/)
  expect(message).not.toContain('127.0.0.1')
})

test('does not apply the outcome of the token request to the call', async () => {
  const thrown = new ToolExecutionError('EXECUTION_ERROR', 'More headers than are read', { outcome: 'unknown' })
  const parts = { ...authParts(), ask: () => Promise.reject(thrown) }
  expect(await failure('https://login.example.com/token', parts)).toMatchObject({
    message: "Tool 'weather' got no access token: More headers than are read",
    extras: {},
  })
})

test('does not cache a failure', async () => {
  const { url, received } = await tokenServer((response, n) => (n < 3 ? json(response, {}, 503) : grant(response, n)))
  const plan = compileAuth(oauth(url), authParts())
  for (let n = 0; n < 2; n++) await expect(plan.apply(REQUEST, 'local')).rejects.toThrow('answered 503')
  expect((await plan.apply(REQUEST, 'local')).headers.authorization).toBe('Bearer access-token-3')
  expect(received).toHaveLength(3)
})
