import { stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { ManualClock } from '../../testing/stand-ins.ts'
import { browse } from './fixtures/authorization-server.ts'
import { oauthYard } from './fixtures/oauth-yard.ts'
import { logIn } from './log-in.ts'

const redirectOf = (address: string): string => new URL(address).searchParams.get('redirect_uri') ?? ''

test('calls work after a login in a browser', async () => {
  const yard = await oauthYard()
  let opened = new URL('none:')
  let page: Promise<{ status: number }> | undefined
  const visit = (address: string) => {
    opened = new URL(address)
    page = browse(address)
  }
  expect(await yard.logIn(yard.one, visit)).toBe('done')
  expect(await page).toMatchObject({ status: 200 })
  expect(Object.fromEntries(opened.searchParams)).toMatchObject({
    response_type: 'code',
    code_challenge_method: 'S256',
    redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
    resource: yard.one.url,
    scope: 'tools',
  })
  expect(await yard.connection(yard.one).call('hi')).toBe('said hi')
  expect(await yard.logIn(yard.one)).toBe('not needed')
})

test('the tokens are in a file that only its owner reads, and nothing of the way to them is left', async () => {
  const yard = await oauthYard()
  await yard.logIn(yard.one)
  expect((await stat(yard.path)).mode & 0o777).toBe(0o600)
  const { tokens, client, pending } = await yard.entry(yard.one)
  expect(tokens).toMatchObject({ access_token: expect.any(String), refresh_token: expect.any(String) })
  expect(client?.client_id).toEqual(expect.any(String))
  expect(pending).toBeUndefined()
})

test('an answer with another state is turned away, and the right one still waited for', async () => {
  const yard = await oauthYard()
  let turnedAway: number | undefined
  await yard.logIn(yard.one, async (address) => {
    turnedAway = (await fetch(`${redirectOf(address)}?code=evil&state=guessed`)).status
    await browse(address)
  })
  expect(turnedAway).toBe(400)
  expect(yard.authority.asked('POST /token')).toBe(1)
})

test('a refused authorization is not a login', async () => {
  const yard = await oauthYard()
  const refuse = (address: string) => {
    const state = new URL(address).searchParams.get('state')
    return fetch(`${redirectOf(address)}?error=access_denied&error_description=%1b[31mno&state=${state}`)
  }
  const message = "MCP server 'one' cannot be used: authorization was refused (access_denied)"
  await expect(yard.logIn(yard.one, refuse)).rejects.toThrow(message)
  expect(await yard.entry(yard.one)).toEqual({})
})

test('an answer of another authorization server is not used', async () => {
  const yard = await oauthYard()
  const mixUp = async (address: string) => {
    const answer = new URL((await browse(address, redirectOf(address))).address)
    answer.searchParams.set('iss', 'http://127.0.0.1:9/evil')
    await fetch(answer)
  }
  await expect(yard.logIn(yard.one, mixUp)).rejects.toThrow("MCP server 'one' cannot be used")
  expect(yard.authority.asked('POST /token')).toBe(0)
})

test('stops waiting after five minutes or when cancelled', async () => {
  const yard = await oauthYard()
  const clock = new ManualClock()
  const quit = new AbortController()
  const parts = { file: yard.file, log: yard.log, clock, signal: quit.signal }
  let redirect = ''
  const late = logIn(yard.settings(yard.one), yard.one.url, parts, (address) => {
    redirect = redirectOf(address)
    clock.advance(5 * 60_000)
  })
  await expect(late).rejects.toThrow('the address was not opened within 5 minutes')
  await expect(fetch(redirect)).rejects.toThrow()
  const stopped = logIn(yard.settings(yard.one), yard.one.url, parts, () => quit.abort(new Error('enough')))
  await expect(stopped).rejects.toThrow('enough')
  expect(clock.pending).toBe(0)
})

test('two servers keep their tokens apart', async () => {
  const yard = await oauthYard()
  await yard.logIn(yard.one)
  await expect(yard.connection(yard.two).client()).rejects.toThrow('it requires authorization')
  await yard.logIn(yard.two)
  expect(await yard.connection(yard.one).call('1')).toBe('said 1')
  expect(await yard.connection(yard.two).call('2')).toBe('said 2')
  const [one, two] = [await yard.entry(yard.one), await yard.entry(yard.two)]
  expect(yard.one.seen).not.toContain(two.tokens?.access_token)
  expect(yard.two.seen).not.toContain(one.tokens?.access_token)
  expect(yard.two.seen).toContain(two.tokens?.access_token)
})
