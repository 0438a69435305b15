import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { ConnectFailure } from '../client/failures.ts'
import { openClient } from '../client/open-client.ts'
import { browse } from './fixtures/authorization-server.ts'
import { oauthYard } from './fixtures/oauth-yard.ts'
import { finishAuthorization, serverAuthorization } from './server-authorization.ts'

type Yard = Awaited<ReturnType<typeof oauthYard>>

afterEach(() => void vi.useRealTimers())

/** The machine's date, and nothing else, moves on. */
function hoursLater(hours: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 })
}

const failureOf = async (work: Promise<unknown>): Promise<ConnectFailure> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ConnectFailure)) throw new Error(`No ConnectFailure: ${error}`)
  return error
}

/** Ends all that somebody allowed. */
async function revoke({ authority, entry, one }: Yard): Promise<void> {
  const { tokens, client } = await entry(one)
  await authority.revoke(tokens?.refresh_token ?? '', client?.client_id ?? '')
  await (await authority.provider.AccessToken.find(tokens?.access_token ?? ''))?.destroy()
}

test('without a terminal connecting fails at once, with the address to open', async () => {
  const yard = await oauthYard()
  const failure = await failureOf(yard.connection(yard.one).client())
  const { address } = (await yard.entry(yard.one)).pending ?? {}
  expect(address).toMatch(new RegExp(`^${yard.authority.issuer}/auth\\?`))
  expect(failure.reason).toBe(`it requires authorization: run "toolyard mcp login one", or open ${address}`)
  expect(failure.message).toBe(
    `MCP server 'one' is unavailable: it requires authorization: run "toolyard mcp login one".`,
  )
})

test('an SSE server requires authorization in the same way', async () => {
  const { one, file, log } = await oauthYard()
  const settings = { name: 'one', reach: { type: 'sse', url: one.url, headers: {}, fetch } } as const
  const authProvider = serverAuthorization(settings, file)
  const { signal } = new AbortController()
  const parts = { log, clock: systemClock, signal, era: undefined, onChanged: () => {}, authProvider }
  expect((await failureOf(openClient(settings, parts))).reason).toMatch(/^it requires authorization: .*, or open http/)
})

test('the address stays the same until it is used, and its answer can be brought by hand, once', async () => {
  const yard = await oauthYard()
  const { one, file } = yard
  const first = await failureOf(yard.connection(one).client())
  const second = await failureOf(yard.connection(one).client())
  expect(second.reason).toBe(first.reason)
  expect(yard.authority.asked('POST /reg')).toBe(1)
  const { address = '', redirect_url } = (await yard.entry(one)).pending ?? {}
  const answer = new URL((await browse(address, redirect_url)).address).searchParams
  const server = { name: 'one', url: one.url, file, fetch }
  const forged = new URLSearchParams({ code: answer.get('code') ?? '', state: 'guessed' })
  await expect(finishAuthorization(server, forged)).rejects.toThrow(
    'the answer does not match the pending authorization',
  )
  expect(yard.authority.asked('POST /token')).toBe(0)
  await finishAuthorization(server, answer)
  expect(await yard.connection(one).call('hi')).toBe('said hi')
  await expect(finishAuthorization(server, answer)).rejects.toThrow(
    'the answer does not match the pending authorization',
  )
})

test('a client that runs already takes up the tokens of a login', async () => {
  const yard = await oauthYard()
  const running = yard.connection(yard.one)
  await failureOf(running.client())
  await yard.logIn(yard.one)
  await vi.waitFor(async () => expect(await running.call('hi')).toBe('said hi'), { interval: 100 })
  expect(yard.authority.asked('POST /token')).toBe(1)
})

test('an expired token is refreshed, once for all calls, and none of them fails', async () => {
  const yard = await oauthYard()
  await yard.logIn(yard.one)
  const { call } = yard.connection(yard.one)
  await call('before')
  const before = await yard.entry(yard.one)
  hoursLater(2)
  expect(await Promise.all(['a', 'b', 'c', 'd'].map(call))).toEqual(['said a', 'said b', 'said c', 'said d'])
  const after = await yard.entry(yard.one)
  expect(after.tokens?.access_token).not.toBe(before.tokens?.access_token)
  expect(after.tokens?.refresh_token).not.toBe(before.tokens?.refresh_token)
  expect(after.client).toEqual(before.client)
  expect(yard.authority.asked('POST /token')).toBe(2)
})

test('a token that was revoked leads to a new login, and not in circles', async () => {
  const yard = await oauthYard()
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  await yard.logIn(yard.one)
  const { call } = yard.connection(yard.one)
  await call('before')
  await revoke(yard)
  const asked = yard.one.seen.length
  await expect(call('after')).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    message: `MCP server 'one' cannot be used: it requires authorization: run "toolyard mcp login one"`,
  })
  expect(yard.one.seen.length).toBe(asked + 1)
  expect(yard.authority.asked('POST /token')).toBe(2)
  expect((await yard.entry(yard.one)).tokens).toBeUndefined()
  await yard.logIn(yard.one)
  expect(await call('again')).toBe('said again')
})

test('a temporary failure of the authorization server requires no new login', async () => {
  const yard = await oauthYard()
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  await yard.logIn(yard.one)
  const { call } = yard.connection(yard.one)
  await call('before')
  hoursLater(2)
  yard.authority.failing.add('POST /token')
  await expect(call('meanwhile')).rejects.toThrow('its authorization server cannot renew tokens at the moment')
  expect((await yard.entry(yard.one)).tokens).toBeDefined()
  yard.authority.failing.clear()
  expect(await call('after')).toBe('said after')
})

test('sends only a configured Authorization header', async () => {
  const yard = await oauthYard()
  await yard.logIn(yard.one)
  const { seen } = yard.one
  seen.length = 0
  const before = yard.authority.requests.length
  const failure = await failureOf(yard.connection(yard.one, { authorization: 'Bearer mine' }).client())
  expect(failure.reason).toBe('it answered with status 401')
  expect(new Set(seen)).toEqual(new Set(['mine']))
  expect(yard.authority.requests.length).toBe(before)
})

test('other configured headers are for the server, not for its authorization server', async () => {
  const yard = await oauthYard()
  await failureOf(yard.connection(yard.one, { 'x-secret': 'for the server' }).client())
  expect(yard.authority.requests.length).toBeGreaterThan(0)
  expect(JSON.stringify(yard.authority.headers)).not.toContain('for the server')
})

test('tokens, codes and verifiers are in no log line and no error', async () => {
  const yard = await oauthYard()
  const written: string[] = []
  for (const stream of ['log', 'warn', 'error', 'info'] as const) {
    const spy = vi.spyOn(console, stream).mockImplementation((...words) => void written.push(words.join(' ')))
    onTestFinished(() => spy.mockRestore())
  }
  const secrets = new Set<string>()
  const note = async () => {
    const { tokens, pending } = await yard.entry(yard.one)
    for (const one of [tokens?.access_token, tokens?.refresh_token, pending?.code_verifier]) if (one) secrets.add(one)
  }
  const errors: unknown[] = []
  const keep = (error: unknown) => void errors.push(error)
  const running = yard.connection(yard.one)
  await running.client().catch(keep)
  await note()
  await yard.logIn(yard.one, async (address) => {
    await note()
    await browse(address)
  })
  await note()
  await yard.connection(yard.one).call('hi')
  hoursLater(2)
  await yard.connection(yard.one).call('hi')
  await note()
  await revoke(yard)
  await yard.connection(yard.one).client().catch(keep)
  expect(secrets.size).toBe(6)
  expect(errors).toHaveLength(2)
  const said = JSON.stringify([yard.log.lines, written, errors.map((one) => chainOf(one))])
  expect(said).toContain('requires authorization')
  for (const secret of secrets) expect(said).not.toContain(secret)
})

const chainOf = (error: unknown): unknown[] =>
  error instanceof Error ? [error.message, error.stack, { ...error }, ...chainOf(error.cause)] : []

test('suggests a header for a server without OAuth', async () => {
  const http = createServer((request, response) => response.writeHead(request.url === '/mcp' ? 401 : 404).end())
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void http.close())
  const yard = await oauthYard()
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
  const { reason } = await failureOf(yard.connection({ url }).client())
  expect(reason).toBe(
    'it requires authorization, and does not let clients register (404): set an Authorization header in mcpServers.two.headers',
  )
})

test('reports unreadable tokens', async () => {
  const yard = await oauthYard()
  await writeFile(yard.path, '{"half')
  const { reason } = await failureOf(yard.connection(yard.one).client())
  expect(reason).toBe('mcp-tokens.json in the data folder is damaged: fix or delete it')
  expect(await yard.text()).toBe('{"half')
})
