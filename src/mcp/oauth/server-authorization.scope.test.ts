import { afterEach, expect, test, vi } from 'vitest'
import { browse } from './fixtures/authorization-server.ts'
import { oauthYard } from './fixtures/oauth-yard.ts'
import { finishAuthorization } from './server-authorization.ts'

afterEach(() => void vi.useRealTimers())

/** The machine's date, and nothing else, moves on. */
function hoursLater(hours: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 })
}

const WANTS_MORE = {
  code: 'SERVICE_UNAVAILABLE',
  message: `MCP server 'one' cannot be used: it requires more authorization than it was given: run "toolyard mcp login one"`,
}

/** Somebody has logged in, and from then on calls want more than that gave. */
async function narrowYard() {
  const yard = await oauthYard()
  await yard.logIn(yard.one)
  yard.one.rules.callsWant = 'write'
  return { ...yard, running: yard.connection(yard.one) }
}

const scopeOf = (address: string | undefined) => new URL(address ?? '').searchParams.get('scope')

test('a call that needs a wider scope works after a login without a new connection', async () => {
  const { one, running, logIn, entry } = await narrowYard()
  const client = await running.client()
  await expect(running.call('hi')).rejects.toMatchObject(WANTS_MORE)
  expect((await entry(one)).tokens?.scope).toBe('tools')
  let asked = ''
  const visit = (address: string) => {
    asked = address
    return browse(address)
  }
  expect(await logIn(one, visit)).toBe('done')
  expect(scopeOf(asked)?.split(' ').sort()).toEqual(['tools', 'write'])
  expect(await running.call('hi')).toBe('said hi')
  expect(await running.client()).toBe(client)
  expect(await logIn(one)).toBe('not needed')
})

test('the address to open stays the same for all calls, and its answer can be brought by hand', async () => {
  const { one, running, authority, entry, file } = await narrowYard()
  const registered = authority.asked('POST /reg')
  const refused = await Promise.allSettled([running.call('a'), running.call('b')])
  expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const { address = '', redirect_url } = (await entry(one)).pending ?? {}
  await expect(running.call('c')).rejects.toMatchObject(WANTS_MORE)
  expect((await entry(one)).pending?.address).toBe(address)
  expect(authority.asked('POST /reg')).toBe(registered + 1)
  const answer = new URL((await browse(address, redirect_url)).address).searchParams
  await finishAuthorization({ name: 'one', url: one.url, file, fetch }, answer)
  expect(await running.call('d')).toBe('said d')
})

test('refreshed tokens keep their scope and the pending authorization', async () => {
  const { one, running, entry } = await narrowYard()
  await expect(running.call('hi')).rejects.toMatchObject(WANTS_MORE)
  const before = await entry(one)
  hoursLater(2)
  await expect(running.call('hi')).rejects.toMatchObject(WANTS_MORE)
  const after = await entry(one)
  expect(after.tokens?.access_token).not.toBe(before.tokens?.access_token)
  expect(after.tokens?.scope).toBe('tools')
  expect(after.pending).toEqual(before.pending)
})

test('does not loop if a server refuses a granted scope', async () => {
  const { one, running, authority, entry } = await narrowYard()
  one.rules.callsWant = 'tools" , error_description="'
  const asked = authority.requests.length
  await expect(running.call('hi')).rejects.toThrow(
    'it refuses the request, although the tokens have the scope that it asks for',
  )
  expect((await entry(one)).pending).toBeUndefined()
  expect(authority.requests.length).toBe(asked)
})

test('logs in to a server that requires authorization only after connecting', async () => {
  const yard = await oauthYard()
  yard.one.rules.letsAnybodyConnect = true
  expect(await yard.logIn(yard.one)).toBe('done')
  expect(await yard.connection(yard.one).call('hi')).toBe('said hi')
})

test('a token of another process that has expired too is refreshed, and the call does not fail', async () => {
  const yard = await oauthYard()
  await yard.logIn(yard.one)
  const [first, second] = [yard.connection(yard.one), yard.connection(yard.one)]
  await first.call('a')
  hoursLater(2)
  await second.call('b')
  hoursLater(2)
  expect(await first.call('c')).toBe('said c')
})
