import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SCOPES } from '../config/callers/scopes.ts'
import { INITIALIZE, POST_HEADERS } from '../mcp/server/fixtures/http-yard.ts'
import { openTestServer, type TestServer } from './fixtures/open-server.ts'
import { toolConfig } from './fixtures/open-tool-server.ts'

/** One try of the other tenant, and the statuses that it may end with. */
interface Try {
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly status: number
}

/** What the first tenant has. */
interface Estate {
  readonly keyId: string
  readonly jobId: string
  readonly runId: string
  readonly session: string
}

const EVENTS = { accept: 'text/event-stream' }
const CALLER = 'key-of-a'

/** Every route, and how the other tenant may try to get at what is not its own. */
const TRIES: Readonly<Record<string, (estate: Estate) => readonly Try[]>> = {
  'POST /tools/execute': () => [
    { path: '/tools/execute', body: { tool_name: 'tool_of_a', params: {} }, status: 403 },
    { path: '/tools/execute', body: { tool_name: 'tool_of', params: {} }, status: 404 },
    { path: '/tools/execute', body: { tool_name: 'whose', params: { same: true } }, status: 200 },
    {
      path: '/tools/execute',
      body: { tool_name: 'whose_write', params: {} },
      headers: { 'idempotency-key': 'same-key' },
      status: 200,
    },
    {
      path: '/tools/execute',
      body: { tool_name: 'whose', params: {}, session_id: 'session-of-both' },
      status: 200,
    },
    { path: '/tools/execute', body: { tool_name: 'tool_of_a', params: {} }, headers: EVENTS, status: 200 },
    {
      path: '/tools/execute',
      body: { tool_name: 'tool_of_a', params: {} },
      headers: { prefer: 'respond-async' },
      status: 403,
    },
  ],
  'GET /schema/tools': () => [{ path: '/schema/tools', status: 200 }],
  'GET /api/tools/list': () => [{ path: '/api/tools/list', status: 200 }],
  'POST /api/tools/test': () => [
    { path: '/api/tools/test', body: { query: 'use tool_of_a', model: 'demo:rules' }, status: 200 },
  ],
  'POST /api/tools/validate': () => [
    { path: '/api/tools/validate', body: { model: 'demo:rules', success: false }, status: 200 },
  ],
  'GET /api/models/list': () => [{ path: '/api/models/list', status: 200 }],
  'POST /chat': () => [
    { path: '/chat', body: { message: 'What was said?', session_id: 'session-of-both' }, status: 200 },
    { path: '/chat', body: { message: 'x', tool_name: 'tool_of_a', tool_params: {} }, status: 403 },
  ],
  'POST /v1/chat/completions': () => [
    {
      path: '/v1/chat/completions',
      body: { model: 'demo:rules', messages: [{ role: 'user', content: 'What was said?' }] },
      status: 200,
    },
  ],
  'GET /v1/models': () => [{ path: '/v1/models', status: 200 }],
  'GET /v1/models/*': () => [{ path: '/v1/models/demo:rules', status: 200 }],
  'GET /api/jobs': () => [{ path: '/api/jobs?limit=200', status: 200 }],
  'GET /api/jobs/:id': ({ jobId }) => [
    { path: `/api/jobs/${jobId}`, status: 404 },
    { path: `/api/jobs/${jobId}`, headers: EVENTS, status: 404 },
  ],
  'DELETE /api/jobs/:id': ({ jobId }) => [{ path: `/api/jobs/${jobId}`, status: 404 }],
  'GET /api/runs': () => [{ path: '/api/runs?limit=200', status: 200 }],
  'GET /api/runs/:id': ({ runId }) => [{ path: `/api/runs/${runId}`, status: 404 }],
  'GET /metrics/tools/execution': () => [
    { path: '/metrics/tools/execution?window=7d', status: 200 },
    { path: '/metrics/tools/execution?tenant=tenant-a', status: 403 },
    { path: '/metrics/tools/execution?tenant=*', status: 403 },
  ],
  'GET /metrics/models': () => [
    { path: '/metrics/models', status: 200 },
    { path: '/metrics/models?tenant=*', status: 403 },
  ],
  'GET /metrics/tools/:name/parameters': () => [
    { path: '/metrics/tools/tool_of_a/parameters', status: 200 },
    { path: '/metrics/tools/tool_of_a/parameters?tenant=tenant-a', status: 403 },
  ],
  'GET /metrics': () => [
    { path: '/metrics', status: 200 },
    { path: '/metrics?tenant=tenant-a', status: 403 },
  ],
  'GET /audit': ({ keyId, runId }) => [
    { path: '/audit?limit=1000', status: 200 },
    { path: `/audit?caller=${keyId}`, status: 200 },
    { path: `/audit?run_id=${runId}`, status: 200 },
    { path: '/audit?tool=tool_of_a&format=csv', status: 200 },
    { path: '/audit?tenant=tenant-a', status: 403 },
    { path: '/audit?tenant=*&format=json', status: 403 },
  ],
  'GET /api/keys': () => [{ path: '/api/keys', status: 200 }],
  'POST /api/keys': () => [
    { path: '/api/keys', body: { name: 'mine', tenant: 'tenant-a' }, status: 400 },
    { path: '/api/keys', body: { name: 'mine', role: 'admin', scopes: ['installation'] }, status: 400 },
  ],
  'DELETE /api/keys/:id': ({ keyId }) => [{ path: `/api/keys/${keyId}`, status: 404 }],
  'POST /mcp': ({ session }) => [
    { path: '/mcp', body: rpc('tools/list'), headers: POST_HEADERS, status: 200 },
    { path: '/mcp', body: rpc('tools/call', { name: 'tool_of_a', arguments: {} }), headers: POST_HEADERS, status: 200 },
    { path: '/mcp', body: rpc('tools/list'), headers: { ...POST_HEADERS, ...ofSession(session) }, status: 404 },
  ],
  'GET /mcp': ({ session }) => [{ path: '/mcp', headers: { ...EVENTS, ...ofSession(session) }, status: 404 }],
  'DELETE /mcp': ({ session }) => [{ path: '/mcp', headers: ofSession(session), status: 404 }],
  'GET /health': () => [{ path: '/health', status: 200 }],
  'HEAD /health': () => [{ path: '/health', status: 200 }],
  'GET /ready': () => [{ path: '/ready', status: 200 }],
  'HEAD /ready': () => [{ path: '/ready', status: 200 }],
  'GET /openapi.json': () => [{ path: '/openapi.json', status: 200 }],
  'GET /docs': () => [
    { path: '/docs', status: 200 },
    { path: '/docs/', status: 200 },
  ],
  'GET /docs/json': () => [{ path: '/docs/json', status: 200 }],
  'GET /docs/yaml': () => [{ path: '/docs/yaml', status: 200 }],
  'GET /docs/static/index.html': () => [{ path: '/docs/static/index.html', status: 200 }],
  'GET /docs/static/swagger-initializer.js': () => [{ path: '/docs/static/swagger-initializer.js', status: 200 }],
  'GET /docs/static/*': () => [
    { path: '/docs/static/index.css', status: 200 },
    { path: '/docs/static/..%2f..%2fpackage.json', status: 404 },
  ],
  'HEAD /docs/static/*': () => [{ path: '/docs/static/index.css', status: 200 }],
}

const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
const ofSession = (id: string) => ({ 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' })

let server: TestServer
let estate: Estate
let owner: string

beforeAll(async () => {
  const { config, handlers } = toolConfig({
    tool_of_a: { run: async () => 'result-of-a', permissions: ['only_a'] },
    whose: {
      run: async (_params, { tenant }) => `result-of-${tenant}`,
      effect: 'read',
      cache: { ttl_ms: 600_000 },
    },
    whose_write: { run: async (_params, { tenant }) => `written-by-${tenant}`, effect: 'write' },
  })
  server = await openTestServer(
    {
      ...config,
      tenants: { 'tenant-a': { flags: { only_a: true } } },
      responses: [{ llm: 'demo', model: 'rules', prompt: 'Be brief.', tools: { enabled: true } }],
      limits: { calls_per_session: 1 },
    },
    { handlers },
  )
  owner = await server.key('tenant-a')
  estate = await furnish()
})
afterAll(() => server.close())

const ask = (key: string | undefined, method: string, { path, body, headers = {} }: Omit<Try, 'status'>) =>
  fetch(server.url + path, {
    method,
    headers: {
      ...(key !== undefined && { 'x-api-key': key }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
const json = async <T>(response: Promise<Response>): Promise<T> => (await (await response).json()) as T

/** The first tenant calls, asks, tests, and leaves something of it everywhere. */
async function furnish(): Promise<Estate> {
  const execute = (body: object, headers: Record<string, string> = {}) =>
    ask(owner, 'POST', { path: '/tools/execute', body, headers })
  await execute({ tool_name: 'tool_of_a', params: { text: 'params-of-a' } })
  await execute({ tool_name: 'whose', params: { same: true } })
  await execute({ tool_name: 'whose', params: {}, session_id: 'session-of-both' })
  await execute({ tool_name: 'whose_write', params: {} }, { 'idempotency-key': 'same-key' })
  const { id: jobId } = await json<{ id: string }>(
    execute({ tool_name: 'tool_of_a', params: { text: 'job-of-a' } }, { prefer: 'respond-async' }),
  )
  await (await ask(owner, 'GET', { path: `/api/jobs/${jobId}`, headers: EVENTS })).text()
  await ask(owner, 'POST', { path: '/chat', body: { message: 'question-of-a' } })
  await ask(owner, 'POST', {
    path: '/api/tools/validate',
    body: { model: 'demo:rules', success: true, details: 'details-of-a' },
  })
  const { id: keyId } = await json<{ id: string }>(
    ask(owner, 'POST', { path: '/api/keys', body: { name: CALLER, role: 'user' } }),
  )
  const { runs } = await json<{ runs: { id: string }[] }>(ask(owner, 'GET', { path: '/api/runs' }))
  const opened = await ask(owner, 'POST', { path: '/mcp', body: INITIALIZE, headers: POST_HEADERS })
  return { keyId, jobId, runId: String(runs[0]?.id), session: String(opened.headers.get('mcp-session-id')) }
}

/** Everything of the first tenant's that it can see itself. */
async function inventory(): Promise<unknown> {
  const [jobs, runs, audit, list, models] = await Promise.all([
    json<{ jobs: object[] }>(ask(owner, 'GET', { path: `/api/jobs/${estate.jobId}` })),
    json<{ runs: object[] }>(ask(owner, 'GET', { path: '/api/runs' })),
    json<{ rows: object[] }>(ask(owner, 'GET', { path: '/audit?limit=1000' })),
    json<{ keys: object[] }>(ask(owner, 'GET', { path: '/api/keys' })),
    json<{ models: object[] }>(ask(owner, 'GET', { path: '/api/models/list' })),
  ])
  const figures = await json<object>(ask(owner, 'GET', { path: '/metrics/tools/execution?window=7d' }))
  return { jobs, runs, audit, list, models, figures }
}

test('the table has every route that there is, and no other', () => {
  const routes = server.app.knownRoutes.all().map(({ method, url }) => `${method} ${url}`)
  expect([...new Set(routes)].sort()).toEqual(Object.keys(TRIES).sort())
})

describe('with the key of another tenant', () => {
  let before: unknown
  let marks: string[]
  beforeAll(async () => {
    before = await inventory()
    const { rows } = (before as { audit: { rows: Record<string, unknown>[] } }).audit
    const ofRows = rows.flatMap(({ id, caller, params_hash, hash }) => [id, caller, params_hash, hash])
    marks = [
      ...['tool_of_a', 'tenant-a', 'only_a', CALLER, 'result-of-a', 'written-by-tenant-a', 'result-of-tenant-a'],
      ...['params-of-a', 'job-of-a', 'question-of-a', 'details-of-a'],
      ...Object.values(estate),
      ...ofRows.filter((mark) => typeof mark === 'string'),
    ]
    expect(marks.length).toBeGreaterThan(25)
  })

  test.each(Object.keys(TRIES))('%s shows nothing of the first', async (route) => {
    const method = route.split(' ', 1)[0] as string
    // One that has done nothing yet, so that whatever it sees is not its own.
    const other = await server.key(`other-${route}`)
    for (const one of (TRIES[route] as (estate: Estate) => readonly Try[])(estate)) {
      const response = await ask(other, method, one)
      const text = await response.text()
      expect([one.path, response.status, text]).toEqual([one.path, one.status, text])
      const asked = JSON.stringify(one)
      const answer = `${text}\n${JSON.stringify([...response.headers])}`
      // What it has said itself may be said back to it, and a tool that it may not use may be named to who names it.
      const shown = marks.filter((mark) => answer.includes(mark) && !asked.includes(mark))
      expect([one.path, shown.filter((mark) => !(mark === 'only_a' && asked.includes('tool_of_a')))]).toEqual([
        one.path,
        [],
      ])
    }
  })

  test('nothing of the first has changed', async () => {
    expect(await inventory()).toEqual(before)
    const own = await ask(owner, 'POST', {
      path: '/mcp',
      body: rpc('tools/list'),
      headers: { ...POST_HEADERS, ...ofSession(estate.session) },
    })
    expect(own.status).toBe(200)
  })
})

describe('who is let in', () => {
  const open = (url: string) => /^\/(health|ready|openapi\.json|docs(\/.*)?)$/.test(url)
  const pathOf = (url: string) => url.replaceAll(/:\w+|\*/g, 'x')

  test('only the routes about the server itself are for everybody', () => {
    for (const { url, scope } of server.app.knownRoutes.all()) {
      expect([url, scope === null]).toEqual([url, open(url)])
    }
  })

  test('every other route answers 401 without a key, and 403 with one that has every scope but its own', async () => {
    for (const { method, url, scope } of server.app.knownRoutes.all()) {
      if (scope === null) continue
      const path = pathOf(url)
      expect([method, url, (await ask(undefined, method, { path })).status]).toEqual([method, url, 401])
      const others = SCOPES.filter((one) => one !== scope)
      const response = await ask(await server.key('tenant-c', 'admin', others), method, { path })
      expect([method, url, response.status]).toEqual([method, url, 403])
      expect(await response.text()).toContain(scope)
    }
  })
})
