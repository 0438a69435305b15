import { generateKeyPairSync } from 'node:crypto'
import { afterEach, expect, test, vi } from 'vitest'
import { ConnectFailure } from '../client/failures.ts'
import { browse } from './fixtures/authorization-server.ts'
import { oauthYard } from './fixtures/oauth-yard.ts'
import { finishAuthorization } from './server-authorization.ts'

afterEach(() => void vi.useRealTimers())

const REDIRECT = 'http://127.0.0.1:47479/callback'
const SECRET = 'the secret of ours'
const ours = {
  client_id: 'ours',
  client_secret: SECRET,
  redirect_uris: [REDIRECT],
  grant_types: ['authorization_code', 'refresh_token'],
}
const machine = {
  client_id: 'machine',
  client_secret: SECRET,
  redirect_uris: [],
  response_types: [],
  grant_types: ['client_credentials'],
}
const registered = { clientId: 'ours', clientSecret: SECRET, isMachine: false }

const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof ConnectFailure ? error.reason : String(error)),
  )

test('uses a registered client, with a fixed redirect address, if registration is disabled', async () => {
  const { one, connection, entry, file, authority, text } = await oauthYard({ clients: [ours], canRegister: false })
  const first = await reasonOf(connection(one, {}, registered).client())
  expect(await reasonOf(connection(one, {}, registered).client())).toBe(first)
  const { address = '', redirect_url } = (await entry(one)).pending ?? {}
  expect(new URL(address).searchParams.get('client_id')).toBe('ours')
  expect(redirect_url).toBe(REDIRECT)
  const answer = new URL((await browse(address, redirect_url)).address).searchParams
  await finishAuthorization({ name: 'one', url: one.url, file, fetch }, answer)
  expect(await connection(one, {}, registered).call('hi')).toBe('said hi')
  expect(await text()).not.toContain(SECRET)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 7_200_000 })
  expect(await connection(one, {}, registered).call('later')).toBe('said later')
  expect(authority.asked('POST /token')).toBe(2)
})

test('requires a registered client if registration is disabled', async () => {
  const { one, connection } = await oauthYard({ canRegister: false })
  expect(await reasonOf(connection(one).client())).toBe(
    'it requires authorization, and accepts only registered clients: add yours to mcpServers.one.oauth, or set an Authorization header in mcpServers.one.headers',
  )
})

test.each([true, false])(
  'a client is shown to no other authorization server than its issuer: machine %s',
  async (is) => {
    const { one, connection, authority } = await oauthYard({ clients: [ours, machine] })
    const client = { ...registered, isMachine: is, issuer: 'http://127.0.0.1:9/other' }
    const reason = await reasonOf(connection(one, {}, client).client())
    expect(reason).toBe('its authorization server is not the issuer in mcpServers.one.oauth')
    expect(authority.requests.some((line) => line.startsWith('POST'))).toBe(false)
    expect(authority.asked('GET /auth')).toBe(0)
  },
)

test('a machine client gets and renews its own tokens once for all calls', async () => {
  const { one, connection, authority, text } = await oauthYard({ clients: [machine] })
  const client = { clientId: 'machine', clientSecret: SECRET, isMachine: true, issuer: `${authority.issuer}/` }
  const { call } = connection(one, {}, client)
  expect(await call('hi')).toBe('said hi')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 7_200_000 })
  expect(await Promise.all(['a', 'b', 'c'].map(call))).toEqual(['said a', 'said b', 'said c'])
  expect(authority.asked('POST /token')).toBe(2)
  await expect(text()).rejects.toThrow('ENOENT')
})

test('a machine client requests a wider scope itself', async () => {
  const { one, connection, authority } = await oauthYard({ clients: [machine] })
  const { call } = connection(one, {}, { clientId: 'machine', clientSecret: SECRET, isMachine: true })
  await call('hi')
  one.rules.callsWant = 'write'
  expect(await call('more')).toBe('said more')
  expect(authority.asked('POST /token')).toBe(2)
})

test.each([
  ['ES256', generateKeyPairSync('ec', { namedCurve: 'prime256v1' })],
  ['ES384', generateKeyPairSync('ec', { namedCurve: 'secp384r1' })],
  ['RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
])('it can prove itself by a key: %s', async (alg, { privateKey, publicKey }) => {
  const { client_secret: _, ...rest } = machine
  const keys = [publicKey.export({ format: 'jwk' })]
  const keyed = { ...rest, token_endpoint_auth_method: 'private_key_jwt', jwks: { keys } }
  const signing = { token_endpoint_auth_signing_alg: alg }
  const { one, connection } = await oauthYard({ clients: [{ ...keyed, ...signing }] })
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const { call } = connection(one, {}, { clientId: 'machine', privateKey: pem, isMachine: true })
  expect(await call('hi')).toBe('said hi')
})

test('reports a wrong secret without quoting the server', async () => {
  const { one, connection } = await oauthYard({ clients: [machine] })
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const client = { clientId: 'machine', clientSecret: 'another', isMachine: true }
  expect(await reasonOf(connection(one, {}, client).client())).toBe(
    'it requires authorization, and its authorization server says invalid_client',
  )
  warned.mockRestore()
})
