import { expect, test, vi } from 'vitest'
import type { HandlerContext } from '../../core/handler.ts'
import { nextMilliseconds } from '../fixtures/next-milliseconds.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'
import { readEvents } from '../fixtures/read-events.ts'

const ASYNC = { prefer: 'respond-async' }
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** A tool that reports, and ends when the test says so. */
function slowTool() {
  const { promise, resolve } = Promise.withResolvers<string>()
  const signals: AbortSignal[] = []
  const run = (_: unknown, { report, signal }: HandlerContext) => {
    signals.push(signal)
    report({ percent: 50 })
    return promise
  }
  return { run, signals, end: () => resolve('done') }
}

async function start(server: Awaited<ReturnType<typeof openToolServer>>, tool: string, headers = {}) {
  const response = await server.call(tool, {}, { ...ASYNC, ...headers })
  expect(response.status).toBe(202)
  return (await response.json()) as { id: string }
}

test('a job is asked for its state, its progress and its result', async () => {
  const slow = slowTool()
  const server = await openToolServer({ slow: slow.run })
  const { id } = await start(server, 'slow')
  const asked = async () => (await server.get(`/api/jobs/${id}`)).json()
  await vi.waitFor(async () => expect(await asked()).toMatchObject({ state: 'running', progress: { percent: 50 } }))
  expect(await asked()).toEqual({
    id,
    tool_name: 'slow',
    caller: 'local',
    state: 'running',
    timeout_ms: 30_000,
    created_at: expect.any(String),
    started_at: expect.any(String),
    ended_at: null,
    progress: { percent: 50 },
    result: null,
  })
  slow.end()
  await vi.waitFor(async () => expect(await asked()).toMatchObject({ state: 'done' }))
  expect(await asked()).toMatchObject({
    ended_at: expect.any(String),
    result: { success: true, result: 'done', tool_name: 'slow', execution_time_ms: expect.any(Number) },
  })
})

test('a job that is listened to tells its progress, then its result, and the stream ends', async () => {
  const slow = slowTool()
  const server = await openToolServer({ slow: slow.run })
  const { id } = await start(server, 'slow')
  const reads = vi.spyOn(server.installation.storage.jobs, 'get')
  const response = await server.get(`/api/jobs/${id}`, { accept: 'text/event-stream' })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const events = []
  for await (const event of readEvents(response)) {
    events.push(event)
    if (event.event === 'progress') slow.end()
  }
  expect(events).toMatchObject([
    { event: 'progress', data: { percent: 50 } },
    { event: 'result', data: { success: true, result: 'done' } },
  ])
  // Many streams of a large job must not read it again and again: the result is read at the beginning and at the end.
  const parts = reads.mock.calls.map(([, , read]) => read)
  expect(new Set(parts)).toEqual(new Set(['result', 'state']))
  expect(parts.filter((read) => read === 'result')).toHaveLength(2)
})

test('a job is ended by DELETE, and twice is once', async () => {
  const slow = slowTool()
  const server = await openToolServer({ slow: slow.run })
  const { id } = await start(server, 'slow')
  await vi.waitFor(() => expect(slow.signals).toHaveLength(1))
  const end = () => fetch(`${server.url}/api/jobs/${id}`, { method: 'DELETE' })
  const ended = await (await end()).json()
  expect(ended).toMatchObject({ state: 'cancelled', result: { error_code: 'CANCELLED', outcome: 'unknown' } })
  expect(slow.signals[0]?.aborted).toBe(true)
  expect(await (await end()).json()).toEqual(ended)
})

test('a tenant with as many jobs as its quota allows gets no more, and others do', async () => {
  const slow = slowTool()
  const limits = { queued_jobs: 2 }
  const server = await openToolServer({ slow: slow.run }, { limits, tenants: { large: { quota: { queued_jobs: 3 } } } })
  const [small, large] = [await server.key('small'), await server.key('large')]
  const statuses = async (key: string) => {
    const answers = []
    for (let n = 0; n < 4; n++) answers.push((await server.call('slow', {}, { ...ASYNC, ...bearer(key) })).status)
    return answers
  }
  expect(await statuses(small)).toEqual([202, 202, 429, 429])
  expect(await statuses(large)).toEqual([202, 202, 202, 429])
  const refused = await server.call('slow', {}, { ...ASYNC, ...bearer(small) })
  expect(await refused.json()).toMatchObject({
    success: false,
    error_code: 'RATE_LIMITED',
    error:
      "Tenant 'small' has reached its quota 'queued_jobs': it uses 2 of 2, and 1 more would exceed it. " +
      'Wait until some have ended, or cancel some, or ask the operator to raise tenants.small.quota.queued_jobs',
  })
  slow.end()
})

test('the newest jobs are listed without their results', async () => {
  const server = await openToolServer({ a: () => 'a', b: () => 'b', c: () => 'c' })
  for (const tool of ['a', 'b', 'c']) {
    await start(server, tool)
    await nextMilliseconds()
  }
  async function list(query = '') {
    const { jobs } = (await (await server.get(`/api/jobs${query}`)).json()) as { jobs: { tool_name: string }[] }
    return jobs
  }
  const jobs = await list('?limit=2')
  expect(jobs.map(({ tool_name }) => tool_name)).toEqual(['c', 'b'])
  expect(jobs[0]).not.toHaveProperty('result')
  for (const query of ['?limit=0', '?limit=201', '?limit=x', '?state=done']) {
    expect((await server.get(`/api/jobs${query}`)).status).toBe(400)
  }
})

test('a job is seen by its key, and by the operators and admins of its tenant', async () => {
  const server = await openToolServer({ hello: () => 'hello' })
  const [ada, bob, operator, admin, other] = await Promise.all([
    server.key('acme', 'user'),
    server.key('acme', 'user'),
    server.key('acme', 'operator'),
    server.key('acme', 'admin'),
    server.key('other', 'admin'),
  ])
  const { id } = await start(server, 'hello', bearer(ada))
  const seen = async (key: string) => {
    const headers = bearer(key)
    const stream = await server.get(`/api/jobs/${id}`, { ...headers, accept: 'text/event-stream' })
    if (stream.ok) await Array.fromAsync(readEvents(stream))
    const one = await server.get(`/api/jobs/${id}`, headers)
    const { jobs } = (await (await server.get('/api/jobs', headers)).json()) as { jobs: unknown[] }
    const ended = await fetch(`${server.url}/api/jobs/${id}`, { method: 'DELETE', headers })
    return [stream.status, one.status, jobs.length, ended.status]
  }
  for (const key of [ada, operator, admin]) expect(await seen(key)).toEqual([200, 200, 1, 200])
  for (const key of [bob, other]) expect(await seen(key)).toEqual([404, 404, 0, 404])
})

test('an unknown job is 404, and reading jobs needs the scope call', async () => {
  const server = await openToolServer({ hello: () => 'hello' })
  const missing = await server.get('/api/jobs/nothing')
  expect([missing.status, await missing.json()]).toEqual([
    404,
    { type: 'about:blank', title: "Job 'nothing' not found", status: 404, error: "Job 'nothing' not found" },
  ])
  expect((await server.get('/api/jobs/%00')).status).toBe(400)
  const reader = await server.key('acme', 'user', ['read'])
  expect((await server.get('/api/jobs', bearer(reader))).status).toBe(403)
  expect((await server.get('/api/jobs')).status).toBe(401)
})
