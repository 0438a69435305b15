import { type IncomingMessage, request } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { never } from '../../../core/fixtures/code-yard.ts'
import { ManualClock } from '../../../testing/stand-ins.ts'
import {
  call,
  httpYard,
  INITIALIZE,
  openSession,
  POST_HEADERS,
  statelessMessage,
  until,
} from '../fixtures/http-yard.ts'

/** Starts a request whose response nobody reads. */
const unread = (url: string, headers: Record<string, string>, body?: unknown): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: body === undefined ? 'GET' : 'POST', headers: { ...POST_HEADERS, ...headers } })
    sent.on('error', reject)
    sent.on('response', (response) => resolve(response.pause().on('error', () => {})))
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    onTestFinished(() => void sent.destroy())
  })

const UNREAD = "An MCP client doesn't read its stream: the stream is closed"

describe('a client that does not read its stream', () => {
  const contextOf = () => ({ tenant: 'acme', caller: 'key-7' })
  const progress = { progressToken: 1 }

  /** A yard with a tool that reports, and never ends by itself. */
  async function noisyYard() {
    const yard = await httpYard({}, { contextOf })
    const closed = () => yard.log.lines.filter(({ message }) => message === UNREAD)
    yard.add('noise', async (_params, { report, signal }) => {
      while (!signal.aborted && closed().length === 0) {
        report('x'.repeat(100_000))
        await new Promise((resolve) => setImmediate(resolve))
      }
      return 'done'
    })
    return { ...yard, closed }
  }

  test('is disconnected with about 1 MB unread, and the log names it', async () => {
    const { service, closed } = await noisyYard()
    const { message, headers } = statelessMessage('tools/call', { name: 'noise', arguments: {} }, progress)
    const response = await unread(service.url, headers, message)
    await until(() => closed().length > 0)
    expect(closed()[0]?.fields).toMatchObject({ tenant: 'acme', caller: 'key-7' })
    expect(closed()[0]?.fields.unread_bytes).toBeLessThan(1_300_000)
    response.resume()
    await until(() => response.destroyed)
  })

  test('loses the stream, and keeps its session', async () => {
    const yard = await noisyYard()
    const session = await openSession(yard)
    const asked = { ...call('noise'), params: { name: 'noise', arguments: {}, _meta: progress } }
    await unread(yard.service.url, session, asked)
    await until(() => yard.closed().length > 0)
    expect(yard.closed()[0]?.fields).toMatchObject({ session: session['mcp-session-id']?.slice(0, 8) })
    yard.add('word', async () => 'hello')
    expect((await yard.post(call('word', 2), session)).text).toContain('hello')
  })

  test('gets a result of any size', async () => {
    const { service, add, log } = await httpYard({}, { contextOf })
    add('large', async () => 'x'.repeat(900_000))
    add('reported', async (_params, { report }) => {
      report('x'.repeat(1_200_000))
      return 'x'.repeat(900_000)
    })
    for (const name of ['large', 'reported']) {
      const { message, headers } = statelessMessage('tools/call', { name, arguments: {} }, progress)
      const response = await unread(service.url, headers, message)
      const chunks: Buffer[] = await response.toArray()
      expect(Buffer.concat(chunks).toString()).toContain(`"text":"${'x'.repeat(900_000)}"`)
    }
    expect(log.at('warn')).toEqual([])
  })
})

describe('sessions', () => {
  test('end when the client says so, and are then not found', async () => {
    const yard = await httpYard()
    const session = await openSession(yard)
    expect(yard.service.handler.sessions).toBe(1)
    const ended = await fetch(yard.service.url, { method: 'DELETE', headers: session })
    expect([ended.status, yard.service.handler.sessions]).toEqual([200, 0])
    for (const message of [call('word'), { jsonrpc: '2.0', id: 2, method: 'ping' }]) {
      expect((await yard.post(message, session)).status).toBe(404)
    }
  })

  test('belong to the caller that opened them', async () => {
    const contextOf = ({ headers }: { headers: Record<string, unknown> }) => ({ tenant: String(headers['x-tenant']) })
    const yard = await httpYard({}, { contextOf })
    yard.add('word', async () => 'hello')
    const session = await openSession(yard, { 'x-tenant': 'one' })
    expect((await yard.post(call('word'), { ...session, 'x-tenant': 'one' })).status).toBe(200)
    expect((await yard.post(call('word'), { ...session, 'x-tenant': 'other' })).status).toBe(404)
  })

  test('use the current rights of their caller', async () => {
    let flags: Record<string, boolean> = { secrets: true }
    const yard = await httpYard({}, { contextOf: () => ({ flags }) })
    yard.add('secret', async () => 'hello', { permissions: ['secrets'] })
    const session = await openSession(yard)
    expect((await yard.post(call('secret'), session)).text).toContain('hello')
    flags = {}
    expect((await yard.post(call('secret'), session)).text).toContain('PERMISSION_DENIED')
    expect((await yard.post({ jsonrpc: '2.0', id: 2, method: 'tools/list' }, session)).text).toContain('"tools":[]')
  })

  test('end after the idle timeout', async () => {
    const clock = new ManualClock()
    const yard = await httpYard({ clock }, { idleMs: 60_000 })
    const [used, idle] = [await openSession(yard), await openSession(yard)]
    yard.add('word', async () => 'hello')
    clock.advance(40_000)
    expect((await yard.post(call('word'), used)).status).toBe(200)
    clock.advance(50_000)
    expect((await yard.post(call('word'), idle)).status).toBe(404)
    expect((await yard.post(call('word'), used)).status).toBe(200)
    expect(yard.service.handler.sessions).toBe(1)
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
    expect(yard.service.handler.sessions).toBe(1)
    abort.abort()
    await stream.text().catch(() => {})
  })

  test('are bounded in number: the one that was unused longest makes room', async () => {
    const yard = await httpYard({}, { maxSessions: 2 })
    yard.add('word', async () => 'hello')
    const [first, second] = [await openSession(yard), await openSession(yard)]
    await yard.post(call('word'), first)
    await openSession(yard)
    expect((await yard.post(call('word'), second)).status).toBe(404)
    expect((await yard.post(call('word'), first)).status).toBe(200)
    expect(yard.service.handler.sessions).toBe(2)
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

describe('a full table', () => {
  /** A server with few places, whose callers name their tenant and their key in headers. */
  async function sharedYard(maxSessions: number) {
    const contextOf = ({ headers }: { headers: Record<string, unknown> }) => ({
      tenant: String(headers['x-tenant']),
      caller: String(headers['x-key']),
    })
    const yard = await httpYard({}, { contextOf, maxSessions })
    yard.add('word', async () => 'hello')
    const abort = new AbortController()
    onTestFinished(() => abort.abort())
    return {
      ...yard,
      /** Opens a session, and a stream in it; gives the headers that name it. */
      async open(tenant: string, key: string) {
        const holder = { 'x-tenant': tenant, 'x-key': key }
        const session = { ...(await openSession(yard, holder)), ...holder }
        const headers = { ...session, accept: 'text/event-stream' }
        const stream = await fetch(yard.service.url, { headers, signal: abort.signal })
        expect(stream.status).toBe(200)
        return { session, stream }
      },
      isOpen: async ({ session }: { session: Record<string, string> }) =>
        (await yard.post(call('word'), session)).status === 200,
      /** Opens a stream without a session; gives a promise of its end. */
      async listen(tenant: string, key: string) {
        const { message, headers } = statelessMessage('subscriptions/listen', {
          notifications: { toolsListChanged: true },
        })
        const all = { ...POST_HEADERS, ...headers, 'x-tenant': tenant, 'x-key': key }
        const init = { method: 'POST', headers: all, body: JSON.stringify(message), signal: abort.signal }
        const response = await fetch(yard.service.url, init)
        const reader = (response.body as ReadableStream<Uint8Array>).getReader()
        const first = new TextDecoder().decode((await reader.read()).value)
        const ended = (async () => {
          while (!(await reader.read()).done);
        })().catch(() => {})
        return { first, ended }
      },
    }
  }

  test('of open streams of one key lets other keys in, and stays bounded', async () => {
    const yard = await sharedYard(20)
    const greedy = []
    for (let index = 0; index < 25; index++) greedy.push(await yard.open('one', 'greedy'))
    expect(yard.service.handler.sessions).toBe(20)
    const others = []
    for (let index = 0; index < 5; index++) {
      others.push(await yard.open('one', `other${index}`), await yard.open(`tenant${index}`, 'other'))
    }
    expect(yard.service.handler.sessions).toBe(20)
    for (const other of others) expect(await yard.isOpen(other)).toBe(true)
    // The greedy key has lost its oldest ones, with their streams, and keeps the rest.
    for (const one of greedy.slice(0, 15)) {
      expect(await yard.isOpen(one)).toBe(false)
      await one.stream.text()
    }
    for (const one of greedy.slice(15)) expect(await yard.isOpen(one)).toBe(true)
  })

  test('costs the greediest tenant a session first, and in it the greediest key', async () => {
    const yard = await sharedYard(6)
    const small = [await yard.open('large', 'small'), await yard.open('lone', 'key'), await yard.open('lone', 'key')]
    const first = await yard.open('large', 'big')
    const second = await yard.open('large', 'big')
    const third = await yard.open('large', 'big')
    const mine = await yard.open('lone', 'key')
    expect([await yard.isOpen(first), await yard.isOpen(second)]).toEqual([false, true])
    for (const one of [...small, third, mine]) expect(await yard.isOpen(one)).toBe(true)
  })

  test('costs a holder its own oldest session if nobody has more', async () => {
    const yard = await sharedYard(4)
    const [a1, b1] = [await yard.open('a', 'key'), await yard.open('b', 'key')]
    const [a2, b2] = [await yard.open('a', 'key'), await yard.open('b', 'key')]
    const a3 = await yard.open('a', 'key')
    expect(await yard.isOpen(a1)).toBe(false)
    for (const one of [a2, a3, b1, b2]) expect(await yard.isOpen(one)).toBe(true)
  })

  test('stays bounded while many sessions open at once', async () => {
    const yard = await sharedYard(5)
    await Promise.all(Array.from({ length: 20 }, () => yard.post(INITIALIZE, { 'x-tenant': 'a', 'x-key': 'b' })))
    expect(yard.service.handler.sessions).toBe(5)
  })

  test('cancels the calls of the session that goes', async () => {
    const yard = await httpYard({}, { maxSessions: 1 })
    let told: AbortSignal | undefined
    yard.add('forever', (_params, { signal }) => {
      told = signal
      return never()
    })
    const running = yard.post(call('forever'), await openSession(yard))
    await until(() => told !== undefined)
    await openSession(yard)
    expect([told?.aborted, (await running).text, yard.service.handler.sessions]).toEqual([true, '', 1])
  })

  test('of streams without sessions lets other keys in, too', async () => {
    const yard = await sharedYard(3)
    const [first] = [
      await yard.listen('a', 'greedy'),
      await yard.listen('a', 'greedy'),
      await yard.listen('a', 'greedy'),
    ]
    const other = await yard.listen('b', 'key')
    expect(other.first).toContain('notifications/subscriptions/acknowledged')
    await first.ended
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
  for (const call of running) expect((await call).text).toBe('')
})
