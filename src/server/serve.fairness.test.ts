import { once } from 'node:events'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../core/clock.ts'
import { isolated, ToolHandlers } from '../kinds/tool-handlers.ts'
import { INITIALIZE, POST_HEADERS } from '../mcp/server/fixtures/http-yard.ts'
import { openTestServer, type TestServer } from './fixtures/open-server.ts'

const HANDLERS = new URL('../isolation/fixtures/handlers.ts', import.meta.url)
const ENGINE = new URL('../../packages/mini/src/engine/fixtures/gated-engine.ts', import.meta.url)
const PARAMETERS = { type: 'object', properties: { state: { type: 'string' } } }
/** Each MCP server gets its share of the 1,000 sessions: with these and the one at `/mcp`, 50. */
const SERVERS_OUT = Object.fromEntries(Array.from({ length: 19 }, (_, n) => [`part_${n}`, { tools: ['quick'] }]))
const MANY_SESSIONS = 60
/** More calls than one tenant has processes and connections, on any machine. */
const MANY_PROCESSES = 16
const MANY_CONNECTIONS = 140
const MANY_CODE_RUNS = 6

/** One tenant takes all that it can get of each shared resource, for good; the calls of another one must end. */
describe('a greedy tenant', () => {
  const open: ServerResponse[] = []
  const service = createServer((request, response) => {
    if (request.url?.startsWith('/hang')) open.push(response)
    else if (request.url?.includes('broken')) response.writeHead(503).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end('"fine"')
  })
  const held = Promise.withResolvers<string>()
  let holding = 0
  const ends = new AbortController()
  const greedyCalls: Promise<unknown>[] = []
  let server: TestServer
  /** Where the engine of mini lies: it runs once there is a file `open` beside it. */
  let engine: string
  let greedy: Record<string, string>
  let modest: Record<string, string>

  beforeAll(async () => {
    engine = await mkdtemp(join(tmpdir(), 'toolyard-engine-'))
    await copyFile(ENGINE, join(engine, 'engine.ts'))
    vi.stubEnv('TOOLYARD_TEST_MINI', 'real')
    vi.stubEnv('TOOLYARD_TEST_MINI_ENGINE', pathToFileURL(join(engine, 'engine.ts')).href)
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
    const origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
    const handlers = new ToolHandlers()
    handlers.register('hang', isolated(HANDLERS, 'hang'))
    handlers.register('echo', isolated(HANDLERS, 'echo'))
    handlers.register('hold', () => {
      holding++
      return held.promise
    })
    handlers.register('quick', () => 'quick')
    const tool = (name: string, implementation: object) => ({
      name,
      description: name,
      parameters: PARAMETERS,
      implementation,
    })
    const internal = (name: string) => ({ ...tool(name, { type: 'internal', handler: name }), timeout_ms: 600_000 })
    const http = (name: string, path: string) => ({
      ...tool(name, { type: 'http', url: origin + path, timeout_ms: 600_000 }),
      timeout_ms: 600_000,
    })
    const registry = [
      ...['hang', 'echo', 'hold', 'quick'].map(internal),
      http('hanging', '/hang'),
      http('answering', '/fine'),
      tool('flaky', {
        type: 'http',
        url: `${origin}/flaky`,
        circuit_breaker: { failures: 2 },
        retry: { max_attempts: 1 },
      }),
    ]
    server = await openTestServer(
      {
        tools: { enabled: true, registry, code_mode: { enabled: true, tools: ['hold'], timeout_ms: 600_000 } },
        http: { allow_private: ['127.0.0.1'] },
        mcp: { servers_out: SERVERS_OUT },
        limits: { queued_jobs: 30, documents: 2 },
        knowledge: { embedder: 'none' },
      },
      // The bucket of requests without a key never fills up again.
      { handlers, clock: { ...systemClock, now: () => 0 } },
    )
    greedy = { authorization: `Bearer ${await server.key('greedy')}` }
    modest = { authorization: `Bearer ${await server.key('modest')}` }
  })

  afterAll(async () => {
    held.resolve('over')
    ends.abort()
    for (const response of open) response.destroy()
    service.close()
    service.closeAllConnections()
    await Promise.allSettled(greedyCalls)
    await server.close()
    vi.unstubAllEnvs()
    await rm(engine, { recursive: true })
  })

  const post = (path: string, body: unknown, headers: Record<string, string>, init: RequestInit = {}) =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      ...init,
    })
  const call = (tool_name: string, headers: Record<string, string>, params: object = {}) =>
    post('/tools/execute', { tool_name, params }, headers)
  const start = (tool_name: string, headers: Record<string, string>) =>
    post('/tools/execute', { tool_name, params: {} }, { ...headers, prefer: 'respond-async' })
  /** Calls that end with the test. */
  const take = (tool_name: string, count: number, paramsOf = (n: number): object => ({ state: `${n}` })) => {
    // Identical calls would share one result.
    const bodies = Array.from({ length: count }, (_, n) => ({ tool_name, params: paramsOf(n) }))
    const taken = bodies.map((body) => post('/tools/execute', body, greedy, { signal: ends.signal }))
    greedyCalls.push(...taken.map((answer) => answer.catch(() => {})))
  }
  const resultOf = async (answer: Promise<Response>) => (await (await answer).json()) as Record<string, unknown>
  const running = () => server.app.traffic.calls.size

  test('holds isolated processes, and another tenant gets its own', async () => {
    take('hang', MANY_PROCESSES)
    await vi.waitFor(() => expect(running()).toBe(MANY_PROCESSES))
    for (let n = 0; n < 3; n++) expect(await resultOf(call('echo', modest))).toMatchObject({ success: true })
    expect(running()).toBe(MANY_PROCESSES)
  })

  test('holds the places of code, and another tenant gets its own', async () => {
    take('run_code', MANY_CODE_RUNS, (n) => ({ code: `return tools.hold({ state: '${n}' })` }))
    await vi.waitFor(() => expect(holding).toBe(2), 30_000)
    expect(await resultOf(call('run_code', modest, { code: 'return 1' }))).toMatchObject({ result: { result: 1 } })
    expect(holding).toBe(2)
  })

  test('makes a service fail, and another tenant may still call it', async () => {
    for (let n = 0; n < 2; n++) await call('flaky', greedy, { state: 'broken' })
    expect(await resultOf(call('flaky', greedy))).toMatchObject({ error: expect.stringContaining('failed 2 times') })
    expect(await resultOf(call('flaky', modest))).toMatchObject({ success: true, result: 'fine' })
  })

  test('holds the connections to an origin, and another tenant gets its own', async () => {
    const before = running()
    take('hanging', MANY_CONNECTIONS)
    await vi.waitFor(() => expect([open.length, running()]).toEqual([128, before + MANY_CONNECTIONS]))
    for (let n = 0; n < 3; n++) {
      expect(await resultOf(call('answering', modest))).toMatchObject({ success: true, result: 'fine' })
    }
    expect(open).toHaveLength(128)
  })

  test('fills the job queue up to its quota, and the jobs of another tenant run', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 32; n++) statuses.push((await start('hold', greedy)).status)
    expect(statuses).toEqual([...Array(30).fill(202), 429, 429])
    const { id } = await resultOf(start('quick', modest))
    const path = `${server.url}/api/jobs/${id}`
    await vi.waitFor(async () =>
      expect(await resultOf(fetch(path, { headers: modest }))).toMatchObject({ state: 'done' }),
    )
    const { jobs } = (await resultOf(fetch(`${server.url}/api/jobs?limit=200`, { headers: greedy }))) as {
      jobs: { state: string }[]
    }
    expect(jobs.filter(({ state }) => state === 'running')).toHaveLength(8)
  })

  test('stores documents up to its quota, and another tenant stores its own', async () => {
    const store = (tenant: string, content: string) =>
      server.installation.manager.getCollections().ingest({ tenant, collection: 'docs', content })
    for (const content of ['One.', 'Two.']) await store('greedy', content)
    await expect(store('greedy', 'Three.')).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      message: expect.stringContaining("quota 'documents': it uses 2 of 2"),
    })
    expect(await store('modest', 'One.')).toMatchObject({ complete: true })
  })

  test('opens MCP sessions, and those of another tenant stay', async () => {
    const session = async (headers: Record<string, string>) => {
      const answer = await post('/mcp', INITIALIZE, { ...POST_HEADERS, ...headers })
      await answer.text()
      return { 'mcp-session-id': answer.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' }
    }
    const ping = async (headers: Record<string, string>) => {
      const answer = await post('/mcp', { jsonrpc: '2.0', id: 2, method: 'ping' }, { ...POST_HEADERS, ...headers })
      return [answer.status, await answer.text()]
    }
    const own = await session(modest)
    const first = await session(greedy)
    for (let n = 0; n < MANY_SESSIONS; n += 10) await Promise.all(Array.from({ length: 10 }, () => session(greedy)))
    expect(await ping({ ...greedy, ...first })).toEqual([404, expect.anything()])
    expect(await ping({ ...modest, ...own })).toEqual([200, expect.stringContaining('"result":{}')])
  })

  test('sends requests without a key, and those with a key are answered', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 110; n++) statuses.push((await fetch(`${server.url}/api/tools/list`)).status)
    expect(statuses.filter((status) => status === 429)).toHaveLength(10)
    expect((await fetch(`${server.url}/api/tools/list`, { headers: modest })).status).toBe(200)
  })

  test('asks mini for much, is refused in time, and another tenant is answered first', async () => {
    const before = running()
    const enough = new AbortController()
    const answers: (readonly [status: number, text: string])[] = []
    const chat = async (headers: Record<string, string>, description: string) => {
      const tools = Array.from({ length: 20 }, (_, n) => ({
        type: 'function',
        function: { name: `tool_${n}`, description: `${n} ${description}` },
      }))
      const messages = [{ role: 'user', content: 'turn on the porch light' }]
      const body = { model: 'mini:v1', messages, tools }
      const answer = await post('/v1/chat/completions', body, headers, { signal: enough.signal })
      answers.push([answer.status, await answer.text()])
    }
    greedyCalls.push(...Array.from({ length: 70 }, (_, n) => chat(greedy, `thing ${n} `.repeat(40)).catch(() => {})))
    // 64 questions of a tenant wait; the process answers none yet.
    await vi.waitFor(() => expect(answers).toHaveLength(6))
    const busy = [503, expect.stringContaining('mini:v1 is busy: 64 questions of your tenant already wait')]
    expect(answers).toEqual(Array(6).fill(busy))
    const answered = chat(modest, 'thing')
    await vi.waitFor(() => expect(running()).toBe(before + 65))
    await writeFile(join(engine, 'open'), '')
    await answered
    expect(answers.slice(6)).toEqual([[200, expect.stringContaining("I couldn't match that to a tool")]])
    enough.abort()
    await vi.waitFor(() => expect(running()).toBe(before))
  })

  test('still holds all of it', () => {
    expect([running(), open.length]).toEqual([MANY_PROCESSES + MANY_CODE_RUNS + MANY_CONNECTIONS, 128])
  })
})
