import { describe, expect, test } from 'vitest'
import { never } from '../../../core/fixtures/code-yard.ts'
import { ManualClock } from '../../../testing/manual-clock.ts'
import {
  call,
  httpYard,
  INITIALIZE,
  openSession,
  POST_HEADERS,
  statelessMessage,
  until,
} from '../fixtures/http-yard.ts'

describe('sessions', () => {
  test('end when the client says so, and are then not found', async () => {
    const yard = await httpYard()
    const session = await openSession(yard)
    expect(yard.service.door.sessions).toBe(1)
    const ended = await fetch(yard.service.url, { method: 'DELETE', headers: session })
    expect([ended.status, yard.service.door.sessions]).toEqual([200, 0])
    for (const message of [call('word'), { jsonrpc: '2.0', id: 2, method: 'ping' }]) {
      expect((await yard.post(message, session)).status).toBe(404)
    }
  })

  test('belong to who opened them', async () => {
    const contextOf = ({ headers }: { headers: Record<string, unknown> }) => ({ tenant: String(headers['x-tenant']) })
    const yard = await httpYard({}, { contextOf })
    yard.add('word', async () => 'hello')
    const session = await openSession(yard, { 'x-tenant': 'one' })
    expect((await yard.post(call('word'), { ...session, 'x-tenant': 'one' })).status).toBe(200)
    expect((await yard.post(call('word'), { ...session, 'x-tenant': 'other' })).status).toBe(404)
  })

  test('go by the rights that their caller has now', async () => {
    let flags: Record<string, boolean> = { secrets: true }
    const yard = await httpYard({}, { contextOf: () => ({ flags }) })
    yard.add('secret', async () => 'hello', { permissions: ['secrets'] })
    const session = await openSession(yard)
    expect((await yard.post(call('secret'), session)).text).toContain('hello')
    flags = {}
    expect((await yard.post(call('secret'), session)).text).toContain('PERMISSION_DENIED')
    expect((await yard.post({ jsonrpc: '2.0', id: 2, method: 'tools/list' }, session)).text).toContain('"tools":[]')
  })

  test('end when nobody has used them for long', async () => {
    const clock = new ManualClock()
    const yard = await httpYard({ clock }, { idleMs: 60_000 })
    const [used, idle] = [await openSession(yard), await openSession(yard)]
    yard.add('word', async () => 'hello')
    clock.advance(40_000)
    expect((await yard.post(call('word'), used)).status).toBe(200)
    clock.advance(50_000)
    expect((await yard.post(call('word'), idle)).status).toBe(404)
    expect((await yard.post(call('word'), used)).status).toBe(200)
    expect(yard.service.door.sessions).toBe(1)
  })

  test('a stream keeps its session', async () => {
    const clock = new ManualClock()
    const yard = await httpYard({ clock }, { idleMs: 60_000 })
    const session = await openSession(yard)
    const abort = new AbortController()
    const headers = { ...session, accept: 'text/event-stream' }
    const stream = await fetch(yard.service.url, { headers, signal: abort.signal })
    expect(stream.status).toBe(200)
    clock.advance(600_000)
    expect(yard.service.door.sessions).toBe(1)
    abort.abort()
    await stream.text().catch(() => {})
  })

  test('there are only so many: the one that was idle longest makes room', async () => {
    const yard = await httpYard({}, { maxSessions: 2 })
    yard.add('word', async () => 'hello')
    const [first, second] = [await openSession(yard), await openSession(yard)]
    await yard.post(call('word'), first)
    await openSession(yard)
    expect((await yard.post(call('word'), second)).status).toBe(404)
    expect((await yard.post(call('word'), first)).status).toBe(200)
    expect(yard.service.door.sessions).toBe(2)
  })

  test('who opens many crowds out nobody else', async () => {
    const contextOf = ({ headers }: { headers: Record<string, unknown> }) => ({ tenant: String(headers['x-tenant']) })
    const yard = await httpYard({}, { contextOf, maxSessions: 2 })
    yard.add('word', async () => 'hello')
    const [one, many] = [{ 'x-tenant': 'one' }, { 'x-tenant': 'many' }]
    const [kept, lost] = [await openSession(yard, one), await openSession(yard, many)]
    await openSession(yard, many)
    expect((await yard.post(call('word'), { ...lost, ...many })).status).toBe(404)
    expect((await yard.post(call('word'), { ...kept, ...one })).status).toBe(200)
  })

  test('where all are in use there is no room for another', async () => {
    const yard = await httpYard({}, { maxSessions: 1 })
    let running = false
    let finish = () => {}
    yard.add('slow', () => {
      running = true
      return new Promise<string>((resolve) => {
        finish = () => resolve('done')
      })
    })
    const session = await openSession(yard)
    const slow = yard.post(call('slow'), session)
    await until(() => running)
    expect((await yard.post(INITIALIZE)).status).toBe(503)
    finish()
    expect((await slow).text).toContain('done')
  })

  test('a call goes on when its connection is lost', async () => {
    const yard = await httpYard()
    let told: AbortSignal | undefined
    let finish = () => {}
    yard.add('slow', (_params, { signal }) => {
      told = signal
      return new Promise<void>((resolve) => {
        finish = resolve
      })
    })
    const session = await openSession(yard)
    const abort = new AbortController()
    const headers = { ...POST_HEADERS, ...session }
    const init = { method: 'POST', headers, body: JSON.stringify(call('slow')), signal: abort.signal }
    const sent = fetch(yard.service.url, init).catch(() => {})
    await until(() => told !== undefined)
    abort.abort()
    await sent
    await yard.post(call('none'), session)
    expect(told?.aborted).toBe(false)
    finish()
    await until(() => {
      yard.executor.flush()
      return yard.records.some(({ tool, code }) => tool === 'slow' && code === undefined)
    })
  })
})

test('closing ends streams and cancels calls, and needs no patience for it', async () => {
  const yard = await httpYard({ clock: new ManualClock() })
  const told: AbortSignal[] = []
  yard.add('forever', (_params, { signal }) => {
    told.push(signal)
    return never()
  })
  const session = await openSession(yard)
  const stream = await fetch(yard.service.url, { headers: { ...session, accept: 'text/event-stream' } })
  const { message, headers } = statelessMessage('subscriptions/listen', { notifications: { toolsListChanged: true } })
  const init = { method: 'POST', headers: { ...POST_HEADERS, ...headers }, body: JSON.stringify(message) }
  const listening = await fetch(yard.service.url, init)
  const running = [yard.post(call('forever'), session), yard.post(call('forever'))]
  await until(() => told.length === 2)
  await yard.service.close()
  expect(told.map(({ aborted }) => aborted)).toEqual([true, true])
  expect(await stream.text()).toBe('')
  expect(await listening.text()).toContain('"resultType":"complete"')
  for (const call of running) expect((await call).status).toBe(202)
})
