import { expect, test, vi } from 'vitest'
import { systemClock } from '../core/clock.ts'
import { INITIALIZE, POST_HEADERS } from '../mcp/server/fixtures/http-yard.ts'
import { Prometheus } from '../telemetry/prometheus.ts'
import { openTestServer } from './fixtures/open-server.ts'
import { openToolServer } from './fixtures/open-tool-server.ts'
import { type ReadEvent, readEvents } from './fixtures/read-events.ts'
import { closeGracefully, serve } from './serve.ts'

const LONG = 60_000

/** A server with a tool that waits until it is told to end, or until it is cancelled. */
async function closingYard() {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: ended, resolve: end } = Promise.withResolvers<string>()
  const wait = (_params: unknown, { report }: { report(progress: unknown): void }) => {
    report('begun')
    begin()
    return ended
  }
  const server = await openToolServer({ wait: { run: wait, effect: 'read' }, hello: async () => 1 })
  return { ...server, begun, end }
}

test('finishes and records running calls, and accepts no new ones', async () => {
  const { app, call, begun, end, url, get, records } = await closingYard()
  const answer = call('wait')
  await begun
  const closed = closeGracefully(app, LONG)
  await vi.waitFor(async () => expect(get('/health')).rejects.toThrow())
  expect(app.traffic.draining).toBe(true)
  await expect(fetch(`${url}/tools/execute`, { method: 'POST' })).rejects.toThrow()
  end('in time')
  const response = await answer
  expect(response.headers.get('connection')).toBe('close')
  expect(await response.json()).toMatchObject({ success: true, result: 'in time' })
  await closed
  expect(await records()).toMatchObject([{ tool: 'wait', outcome: 'success' }])
})

test('cancels and records calls that still run at the limit', async () => {
  const { app, call, begun, records } = await closingYard()
  const answer = call('wait')
  await begun
  await closeGracefully(app, 50)
  const response = await answer
  expect([response.status, await response.json()]).toMatchObject([499, { error_code: 'CANCELLED' }])
  expect(await records()).toMatchObject([{ tool: 'wait', error_code: 'CANCELLED' }])
})

test('is not ready while it is draining', async () => {
  const { app, get } = await closingYard()
  app.traffic.drain()
  const ready = await get('/ready')
  expect([ready.status, await ready.json()]).toMatchObject([503, { status: 'draining' }])
  expect((await get('/health')).status).toBe(200)
})

test('streams get a last event, and are ended', async () => {
  const { app, call, begun } = await closingYard()
  const events = readEvents(await call('wait', {}, { accept: 'text/event-stream' }))
  await begun
  const closed = closeGracefully(app, 50)
  const seen: ReadEvent[] = []
  for await (const event of events) seen.push(event)
  await closed
  expect(seen.map(({ event }) => event)).toEqual(['progress', 'shutdown'])
  expect(seen.at(-1)?.data).toEqual({ error: 'The server is shutting down: try again in a moment' })
})

test('a client that only listens, or keeps its connection, does not hold it up', async () => {
  const { app, post, url, get } = await closingYard()
  await get('/health')
  const opened = await post('/mcp', INITIALIZE, POST_HEADERS)
  const session = {
    'mcp-session-id': String(opened.headers.get('mcp-session-id')),
    'mcp-protocol-version': '2025-11-25',
  }
  const listening = await fetch(`${url}/mcp`, { headers: { accept: 'text/event-stream', ...session } })
  expect(listening.status).toBe(200)
  await closeGracefully(app, LONG)
  await listening.text().catch(() => {})
})

test('running calls of MCP clients may end, too', async () => {
  const { app, post, begun, end } = await closingYard()
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait', arguments: {} } }
  const answer = post('/mcp', message, POST_HEADERS)
  await begun
  const closed = closeGracefully(app, LONG)
  end('in time')
  expect(await (await answer).text()).toContain('in time')
  await closed
})

test('still accepts requests while it drains, and says so to load balancers', async () => {
  const drainMs = 4_321
  let drained = () => {}
  const after: typeof systemClock.after = (ms, callback) => {
    if (ms !== drainMs) return systemClock.after(ms, callback)
    drained = callback
    return () => {}
  }
  const test = await openTestServer({ server: { drain_ms: drainMs } }, { clock: { ...systemClock, after } })
  const prometheus = new Prometheus()
  const { installation } = test
  const server = await serve({ installation, host: '127.0.0.1', port: 0, prometheus, version: '1.2.3' })
  const closed = server.close({ drain: true })
  const ready = await fetch(`${server.url}/ready`)
  expect([ready.status, await ready.json()]).toMatchObject([503, { status: 'draining' }])
  expect((await fetch(`${server.url}/api/tools/list`)).status).toBe(200)
  drained()
  await closed
  await expect(fetch(`${server.url}/ready`)).rejects.toThrow()
  await test.close()
})
