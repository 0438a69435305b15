import type { ServerResponse } from 'node:http'
import { expect, test, vi } from 'vitest'
import { cancelled, timedOut } from '../../../core/execution/call.ts'
import type { HttpAuth } from '../definition/http-implementation.ts'
import type { OutgoingRequest } from '../exchange/outgoing-request.ts'
import { compileAuth } from './compile-auth.ts'
import { authParts } from './fixtures/auth-parts.ts'
import { grant, json, tokenServer } from './fixtures/token-server.ts'

const REQUEST: OutgoingRequest = { method: 'GET', origin: 'https://api.example.com', path: '/', headers: {} }
const SOON = { timeout: 20_000, interval: 5 }

const oauth = (token_url: string): HttpAuth => ({
  type: 'oauth2',
  token_url,
  client_id: 'client',
  client_secret: 'secret-1234',
})

/** A token server that answers when it is told to. */
async function slowServer() {
  const waiting: { response: ServerResponse; n: number }[] = []
  const server = await tokenServer((response, n) => waiting.push({ response, n }))
  const next = async () => {
    await vi.waitFor(() => expect(waiting).not.toHaveLength(0), SOON)
    return waiting.shift() as { response: ServerResponse; n: number }
  }
  return {
    ...server,
    next,
    async grantNext() {
      const { response, n } = await next()
      grant(response, n)
    },
  }
}

test('fifty calls of each of two tenants ask for two tokens', async () => {
  const { url, received, grantNext } = await slowServer()
  const parts = authParts()
  const plans = [compileAuth(oauth(url), parts), compileAuth(oauth(url), { ...parts, tool: 'forecast' })]
  const calls = Array.from({ length: 100 }, (_, n) => plans[n % 2]?.apply(REQUEST, n < 50 ? 'a' : 'b'))
  await grantNext()
  await grantNext()
  const shown = (await Promise.all(calls)).map((sent) => sent?.headers.authorization)
  expect(new Set(shown.slice(0, 50)).size).toBe(1)
  expect(new Set(shown.slice(50)).size).toBe(1)
  expect(new Set(shown).size).toBe(2)
  expect(received).toHaveLength(2)
})

test('reports a shared failure under the name of each tool', async () => {
  const { url, received, next } = await slowServer()
  const parts = authParts()
  const names = ['weather', 'forecast', 'weather']
  const calls = names.map((tool) => compileAuth(oauth(url), { ...parts, tool }).apply(REQUEST, 'a'))
  const ended = Promise.allSettled(calls)
  json((await next()).response, {}, 500)
  for (const [n, end] of (await ended).entries()) {
    expect(end).toMatchObject({ status: 'rejected', reason: { code: 'SERVICE_UNAVAILABLE' } })
    expect(String((end as PromiseRejectedResult).reason.message)).toContain(`Tool '${names[n]}' got no access token`)
  }
  expect(received).toHaveLength(1)
})

test('a caller that gives up does not affect the others', async () => {
  const { url, received, abandoned, next } = await slowServer()
  const plan = compileAuth(oauth(url), authParts())
  const [first, second] = [new AbortController(), new AbortController()]
  const reason = timedOut(1_000)
  const leaving = Promise.resolve(plan.apply(REQUEST, 'a', first.signal))
  const staying = plan.apply(REQUEST, 'a', second.signal)
  const { response, n } = await next()
  first.abort(reason)
  await expect(leaving).rejects.toBe(reason)
  grant(response, n)
  expect((await staying).headers.authorization).toBe('Bearer access-token-1')
  second.abort(cancelled())
  expect([received.length, abandoned()]).toEqual([1, 0])
})

test('cancels the token request when the last caller gives up, and the next caller starts a new one', async () => {
  const { url, received, abandoned, next, grantNext } = await slowServer()
  const plan = compileAuth(oauth(url), authParts())
  const callers = [new AbortController(), new AbortController()]
  const ended = Promise.allSettled(callers.map(({ signal }) => plan.apply(REQUEST, 'a', signal)))
  await next()
  for (const caller of callers) caller.abort(cancelled())
  for (const end of await ended) expect(end).toMatchObject({ status: 'rejected', reason: { code: 'CANCELLED' } })
  const later = plan.apply(REQUEST, 'a')
  await vi.waitFor(() => expect(abandoned()).toBe(1), SOON)
  await grantNext()
  expect((await later).headers.authorization).toBe('Bearer access-token-2')
  expect(received).toHaveLength(2)
})

test('an aborted caller requests nothing', async () => {
  const { url, received } = await tokenServer(grant)
  const plan = compileAuth(oauth(url), authParts())
  const reason = cancelled()
  await expect(plan.apply(REQUEST, 'a', AbortSignal.abort(reason))).rejects.toBe(reason)
  await plan.apply(REQUEST, 'b')
  expect(received).toHaveLength(1)
})

test('no listener stays on the signal of a call that has its token', async () => {
  const { url } = await tokenServer(grant)
  const plan = compileAuth(oauth(url), authParts())
  const { signal } = new AbortController()
  const [added, removed] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')]
  await plan.apply(REQUEST, 'a', signal)
  await plan.apply(REQUEST, 'a', signal)
  expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([1, 1])
})

test('fifty calls whose token was revoked get one new token, and are each repeated once', async () => {
  const { url, received } = await tokenServer(grant)
  const plan = compileAuth(oauth(url), authParts())
  const good = new Set(['Bearer access-token-2'])
  let asked = 0
  /** What the service does: it answers a little later, and only to good tokens. */
  const status = async ({ headers }: OutgoingRequest): Promise<number> => {
    asked++
    await new Promise((resolve) => setImmediate(resolve))
    return good.has(headers.authorization ?? '') ? 200 : 401
  }
  const call = async (): Promise<number> => {
    const sent = await plan.apply(REQUEST, 'a')
    const first = await status(sent)
    return first === 401 && plan.refused(sent, 'a') ? status(await plan.apply(REQUEST, 'a')) : first
  }
  await plan.apply(REQUEST, 'a')
  const statuses = await Promise.all(Array.from({ length: 50 }, call))
  expect(statuses).toEqual(statuses.map(() => 200))
  expect([received.length, asked]).toEqual([2, 100])
})
