import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Span } from '../../core/records/tracer.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'
import { type ReadEvent, readEvents } from '../fixtures/read-events.ts'

const rates = ({ headers }: Response) =>
  Object.fromEntries(
    ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'].map((name) => [
      name,
      headers.get(name),
    ]),
  )

describe('limits of callers', () => {
  test('each answer says how the limit of the key stands', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    const key = { 'x-api-key': await server.key('acme', 'user', undefined, 2) }
    const other = { 'x-api-key': await server.key('acme', 'user', undefined, 2) }
    expect(rates(await server.call('hello', {}, key))).toEqual({
      'ratelimit-limit': '2',
      'ratelimit-remaining': '1',
      'ratelimit-reset': '60',
      'retry-after': null,
    })
    await server.call('hello', {}, key)
    const refused = await server.call('hello', {}, key)
    expect(refused.status).toBe(429)
    const said = rates(refused)
    expect(said).toMatchObject({ 'ratelimit-limit': '2', 'ratelimit-remaining': '0' })
    expect(Number(said['retry-after'])).toBeGreaterThan(1)
    expect(said['retry-after']).toBe(said['ratelimit-reset'])
    expect((await server.call('hello', {}, other)).status).toBe(200)
  })

  test('a tool that refuses says when it may be called again', async () => {
    const rare = { run: async () => 1, rate_limit: { calls: 1, per_ms: 90_000 } }
    const server = await openToolServer({ rare })
    await server.call('rare')
    const said = rates(await server.call('rare'))
    expect(said).toMatchObject({ 'ratelimit-limit': '1', 'ratelimit-remaining': '0' })
    expect(Number(said['retry-after'])).toBeGreaterThan(60)
  })

  test('the configured limit applies to keys without their own', async () => {
    const server = await openToolServer({ hello: async () => 1 }, { limits: { calls_per_minute: 5 } })
    expect(rates(await server.call('hello'))).toMatchObject({ 'ratelimit-limit': '5', 'ratelimit-remaining': '4' })
    const key = { 'x-api-key': await server.key('acme', 'user', undefined, 9) }
    expect(rates(await server.call('hello', {}, key))).toMatchObject({ 'ratelimit-limit': '9' })
  })

  test('a session may make so many calls, named by header or body, and another begins anew', async () => {
    const server = await openToolServer({ hello: async () => 1 }, { limits: { calls_per_session: 2 } })
    const inBody = (session_id: string) => server.post('/tools/execute', { tool_name: 'hello', params: {}, session_id })
    expect((await server.call('hello', {}, { 'x-session-id': 'one' })).status).toBe(200)
    expect((await inBody('one')).status).toBe(200)
    const refused = await inBody('one')
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { error: expect.stringMatching(/^A session may make 2 tool calls: try again in about \d+ \w+$/) },
    ])
    expect((await inBody('two')).status).toBe(200)
    expect((await server.call('hello')).status).toBe(200)
  })

  test('a change of flags and of the configuration holds for the very next call', async () => {
    const server = await openToolServer({ hello: async () => 1 })
    expect((await server.call('hello')).status).toBe(200)
    await server.installation.storage.settings.put({
      kind: 'tenant',
      name: 'local',
      value: { flags: { hello: false } },
    })
    await server.installation.tenants.load(server.installation.storage.settings)
    expect((await server.call('hello')).status).toBe(403)
  })
})

test('a client that disconnects cancels its call, which is recorded', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: told, resolve: tell } = Promise.withResolvers<void>()
  const server = await openToolServer({
    forever: (_params, { signal }) => {
      begin()
      signal.addEventListener('abort', () => tell())
      return new Promise(() => {})
    },
  })
  const abort = new AbortController()
  const call = server.call('forever', {}, {}, { signal: abort.signal })
  await begun
  abort.abort()
  await expect(call).rejects.toThrow()
  await told
  expect(await server.records()).toMatchObject([{ tool: 'forever', outcome: 'unknown', error_code: 'CANCELLED' }])
  expect(server.app.traffic.busy).toBe(false)
})

test('a client that does not take its answer is cut off after half a minute', async () => {
  const large = { run: async () => 'x'.repeat(30_000_000), max_result_bytes: 50_000_000 }
  const server = await openToolServer({ large })
  const connection = once(server.app.server, 'connection') as Promise<[Socket]>
  const client = connect(Number(new URL(server.url).port), '127.0.0.1')
  onTestFinished(() => void client.destroy())
  client.on('error', () => {})
  const body = JSON.stringify({ tool_name: 'large', params: {} })
  const head = 'POST /tools/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
  client.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`)
  const [socket] = await connection
  await vi.waitFor(() => expect(socket.timeout).toBe(30_000))
  expect(socket.destroyed).toBe(false)
  // What the clock of the machine would say after half a minute of nothing.
  socket.emit('timeout')
  expect(socket.destroyed).toBe(true)
})

describe('as Server-Sent Events', () => {
  const EVENTS = { accept: 'text/event-stream' }
  const all = async (response: Response): Promise<ReadEvent[]> => Array.fromAsync(readEvents(response))

  test('streams progress, then the envelope', async () => {
    const { promise: heard, resolve: hear } = Promise.withResolvers<void>()
    const server = await openToolServer({
      steps: async (_params, { report }) => {
        report({ progress: 1, total: 2 })
        await heard
        report('half\nway')
        return 'done'
      },
    })
    const response = await server.call('steps', {}, EVENTS)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    const events: ReadEvent[] = []
    for await (const event of readEvents(response)) {
      events.push(event)
      hear()
    }
    expect(events).toEqual([
      { event: 'progress', data: { progress: 1, total: 2 } },
      { event: 'progress', data: 'half\nway' },
      { event: 'result', data: expect.objectContaining({ success: true, result: 'done', tool_name: 'steps' }) },
    ])
  })

  test('a failure is the result event, too, and an unreadable body is not', async () => {
    const server = await openToolServer({})
    expect(await all(await server.call('none', {}, EVENTS))).toMatchObject([
      { event: 'result', data: { success: false, error_code: 'TOOL_NOT_FOUND' } },
    ])
    expect((await server.post('/tools/execute', '{', EVENTS)).status).toBe(400)
  })

  test('a client that hangs up cancels its call', async () => {
    const { promise: told, resolve: tell } = Promise.withResolvers<void>()
    const server = await openToolServer({
      forever: (_params, { signal, report }) => {
        report('begun')
        signal.addEventListener('abort', () => tell())
        return new Promise(() => {})
      },
    })
    const abort = new AbortController()
    const events = readEvents(await server.call('forever', {}, EVENTS, { signal: abort.signal }))
    expect((await events.next()).value).toEqual({ event: 'progress', data: 'begun' })
    abort.abort()
    await told
    expect(await server.records()).toMatchObject([{ error_code: 'CANCELLED' }])
  })
})

describe('in the background', () => {
  const ASYNC = { prefer: 'wait=5, respond-async' }

  test('the response has the URL of the job at once', async () => {
    const server = await openToolServer({ hello: async () => 'done' })
    const response = await server.call('hello', {}, ASYNC)
    expect(response.status).toBe(202)
    expect(response.headers.get('preference-applied')).toBe('respond-async')
    const job = (await response.json()) as { id: string }
    expect(job).toMatchObject({ tool_name: 'hello', state: 'queued' })
    const location = response.headers.get('location')
    expect(location).toBe(`/api/jobs/${job.id}`)
    const events = await Array.fromAsync(
      readEvents(await server.get(String(location), { accept: 'text/event-stream' })),
    )
    expect(events.at(-1)).toMatchObject({ event: 'result', data: { success: true, result: 'done' } })
  })

  test('an invalid call is rejected at once with its status and envelope', async () => {
    const server = await openToolServer({ hello: async () => 'done' }, { limits: { calls_per_minute: 1 } })
    const unknown = await server.call('none', {}, ASYNC)
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { error_code: 'TOOL_NOT_FOUND' }])
    expect((await server.call('hello', {}, ASYNC)).status).toBe(202)
    const limited = await server.call('hello', {}, ASYNC)
    expect(limited.status).toBe(429)
    expect(rates(limited)).toMatchObject({ 'ratelimit-remaining': '0', 'retry-after': expect.any(String) })
  })
})

test('a call belongs to the trace that the request names, if it names one', async () => {
  const parents: (string | undefined)[] = []
  const span: Span = { traceparent: '', end: () => {} }
  const tracer = {
    start: (_kind: string, _name: string, parent: string | undefined) => {
      parents.push(parent)
      return span
    },
  }
  const server = await openToolServer({ hello: async () => 1 }, {}, { tracer })
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await server.call('hello', {}, { traceparent })
  await server.call('hello', {}, { traceparent: 'nonsense' })
  await server.call('hello')
  expect(parents).toEqual([traceparent, undefined, undefined])
})
