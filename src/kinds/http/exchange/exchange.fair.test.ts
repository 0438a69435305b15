import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { DeadlineWheel } from '../../../core/deadline-wheel.ts'
import { timedOut } from '../../../core/execution/call.ts'
import { ManualClock } from '../../../testing/stand-ins.ts'
import { OriginConnections } from './exchange.ts'
import { Service } from './fixtures/service.ts'

/** A service that answers `/well`, and all else when it is told to. */
async function slowService() {
  const open: ServerResponse[] = []
  let heard: (() => void) | undefined
  const service = await Service.http((_request, response) => {
    open.push(response)
    heard?.()
  })
  onTestFinished(() => service.close())
  const connections = new OriginConnections({ size: 4, queue: 3 })
  const ends = new AbortController()
  return {
    service,
    open,
    ends,
    ask: (tenant: string, path: string, more: object = {}) => service.ask(path, { connections, tenant, ...more }),
    hang: (tenant: string, signal: AbortSignal = ends.signal) =>
      service.ask(`/${tenant}`, { connections, tenant, signal }).then(
        ({ status }) => status,
        (error: unknown) => error,
      ),
    async heard(count: number) {
      while (open.length < count) await new Promise<void>((resolve) => (heard = resolve))
    },
  }
}

test('a tenant has half of the connections to an origin, and others use the rest', async () => {
  const { ask, hang, heard, open, ends, service } = await slowService()
  const greedy = [1, 2, 3, 4, 5].map(() => hang('greedy'))
  await heard(2)
  for (let n = 0; n < 5; n++) expect((await ask('modest', '/well')).body.toString()).toBe('well')
  expect(service.asked.filter((line) => line === 'GET /greedy')).toHaveLength(2)
  await expect(ask('greedy', '/well')).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    message: expect.stringContaining('too many requests of your tenant wait for a connection'),
  })
  for (let n = 0; n < 5; n++) {
    await heard(n + 1)
    open[n]?.end('late')
  }
  expect(await Promise.all(greedy)).toEqual([200, 200, 200, 200, 200])
  ends.abort()
})

test('a request that is cancelled while it waits leaves the queue, and its place goes to the next', async () => {
  const { ask, hang, heard, ends } = await slowService()
  const [gives, runs] = [new AbortController(), new AbortController()]
  const running = [hang('acme', runs.signal), hang('acme')]
  await heard(2)
  const waiting = hang('acme', gives.signal)
  gives.abort('enough')
  expect(await waiting).toBe('enough')
  const next = ask('acme', '/well')
  runs.abort('over')
  expect((await next).body.toString()).toBe('well')
  ends.abort('end')
  expect(await Promise.all(running)).toEqual(['over', 'end'])
})

test('the timeouts of a request begin when it has a connection', async () => {
  const { ask, hang, heard, open, service } = await slowService()
  const clock = new ManualClock()
  const own = { clock, wheel: new DeadlineWheel(clock), timeoutMs: 1_000, firstByteTimeoutMs: 500 }
  const running = [hang('acme'), hang('acme')]
  await heard(2)
  const waiting = ask('acme', '/patient', own)
  clock.advance(60_000)
  open[0]?.end()
  await heard(3)
  expect(own.wheel.size).toBe(1)
  clock.advance(510)
  await expect(waiting).rejects.toMatchObject({ code: 'TIMEOUT', message: expect.stringContaining('after 500ms') })
  expect(service.asked).toContain('GET /patient')
  open[1]?.end()
  await Promise.all(running)
})

test('a call that times out because its request waited is no failure of the service', async () => {
  const { ask, hang, heard, open, ends, service } = await slowService()
  const running = [hang('acme'), hang('acme')]
  await heard(2)
  const [first, second] = [new AbortController(), new AbortController()]
  const waits = ask('acme', '/late', { signal: first.signal })
  first.abort(timedOut(1_000))
  await expect(waits).rejects.toMatchObject({ code: 'CANCELLED' })
  expect(service.asked).not.toContain('GET /late')
  const sent = ask('acme', '/sent', { signal: second.signal })
  open[0]?.end()
  await heard(3)
  second.abort(timedOut(1_000))
  await expect(sent).rejects.toMatchObject({ code: 'CANCELLED' })
  const third = new AbortController()
  const atOnce = ask('other', '/at-once', { signal: third.signal })
  await heard(4)
  third.abort(timedOut(1_000))
  await expect(atOnce).rejects.toMatchObject({ code: 'TIMEOUT' })
  ends.abort('end')
  await Promise.all(running)
})

test('requests that wait when the agent is closed fail at once', async () => {
  const { hang, heard, service } = await slowService()
  const calls = [1, 2, 3, 4, 5].map(() => hang('acme'))
  await heard(2)
  await service.agent.destroy()
  for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: expect.any(String) })
})
