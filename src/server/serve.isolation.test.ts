import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SCOPES } from '../app/callers/callers.ts'
import { INITIALIZE, POST_HEADERS } from '../mcp/server/fixtures/http-yard.ts'
import { ModelCatalogue } from '../models/model-catalogue.ts'
import { scripted } from '../testing/stand-ins.ts'
import { type Estate, EVENTS, ofSession, rpc, TRIES, type Try, uiChat } from './fixtures/isolation-tries.ts'
import { openTestServer, type TestServer } from './fixtures/open-server.ts'
import { toolConfig } from './fixtures/open-tool-server.ts'

const CALLER = 'key-of-a'

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
    guarded: { run: async () => 'result-of-a', approval: true },
    whose_write: { run: async (_params, { tenant }) => `written-by-${tenant}`, effect: 'write' },
  })
  server = await openTestServer(
    {
      ...config,
      tenants: { 'tenant-a': { flags: { only_a: true } } },
      responses: [{ llm: 'mini', model: 'v1', prompt: 'Be brief.', tools: { enabled: true } }],
      limits: { calls_per_session: 1 },
      storage: { payloads: 'all' },
    },
    { handlers },
  )
  // What a model says is not the point, and nobody need wait for one to be loaded.
  const model = { ...scripted(...Array<string>(50).fill('Fine.')), id: 'mini:v1' }
  const info = { id: model.id, name: 'Scripted', capabilities: ['function-calling'] }
  const models = new ModelCatalogue([{ name: 'mini', model: () => model }], [info])
  server.installation.manager.getModels = async () => models
  owner = await server.key('tenant-a')
  estate = await furnish()
})
afterAll(() => server.close())

const ask = (key: string | undefined, method: string, { path, body, headers = {} }: Omit<Try, 'status'>) =>
  fetch(server.url + path, {
    redirect: 'manual',
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
  const { details } = await json<{ details: { approval: { id: string } } }>(
    execute({ tool_name: 'guarded', params: { text: 'params-of-a' } }),
  )
  const { id: jobId } = await json<{ id: string }>(
    execute({ tool_name: 'tool_of_a', params: { text: 'job-of-a' } }, { prefer: 'respond-async' }),
  )
  await (await ask(owner, 'GET', { path: `/api/jobs/${jobId}`, headers: EVENTS })).text()
  const { run_id: durableRunId } = await json<{ run_id: string }>(
    ask(owner, 'POST', { path: '/chat', body: { message: 'question-of-a', durable: true } }),
  )
  await (await ask(owner, 'POST', { path: '/api/ai-sdk/chat', body: uiChat('question-of-a') })).text()
  const { id: responseId } = await json<{ id: string }>(
    ask(owner, 'POST', { path: '/v1/responses', body: { model: 'mini:v1', input: 'question-of-a' } }),
  )
  await ask(owner, 'POST', {
    path: '/api/tools/validate',
    body: { model: 'mini:v1', success: true, details: 'details-of-a' },
  })
  const suites = { models: ['mini:v1'], suites: ['generated'] }
  const { id: suiteRunId } = await json<{ id: string }>(
    ask(owner, 'POST', { path: '/api/validations/runs', body: suites }),
  )
  await (await ask(owner, 'GET', { path: `/api/validations/runs/${suiteRunId}`, headers: EVENTS })).text()
  const { id: keyId } = await json<{ id: string }>(
    ask(owner, 'POST', { path: '/api/keys', body: { name: CALLER, role: 'user' } }),
  )
  const { runs } = await json<{ runs: { id: string }[] }>(ask(owner, 'GET', { path: '/api/runs' }))
  const { rows } = await json<{ rows: { id: string }[] }>(ask(owner, 'GET', { path: '/audit?tool=tool_of_a' }))
  const callId = String(rows[0]?.id)
  await ask(owner, 'POST', { path: '/api/suites/saved/of-a/cases', body: { call_id: callId } })
  const thread = { name: 'thread-of-a', before: null, content: { settings: {}, turns: [{ query: 'question-of-a' }] } }
  expect((await ask(owner, 'PUT', { path: '/api/threads/thread-of-a', body: thread })).status).toBe(200)
  const rating = { run_id: runs[0]?.id, verdict: 'good', comment: 'comment-of-a' }
  const { id: ratingId } = await json<{ id: string }>(ask(owner, 'PUT', { path: '/api/ratings', body: rating }))
  expect(ratingId).toMatch(/^[\da-f]{64}$/)
  const view = { name: 'view-of-a', address: '/activity/runs', shared: true, pinned: true }
  expect((await ask(owner, 'PUT', { path: '/api/views/view-of-a', body: view })).status).toBe(200)
  const opened = await ask(owner, 'POST', { path: '/mcp', body: INITIALIZE, headers: POST_HEADERS })
  const session = String(opened.headers.get('mcp-session-id'))
  return {
    keyId,
    jobId,
    runId: String(runs[0]?.id),
    callId,
    durableRunId,
    responseId,
    ratingId,
    suiteRunId,
    session,
    approvalId: details.approval.id,
  }
}

/** Everything of the first tenant's that it can see itself. */
async function inventory(): Promise<unknown> {
  const [jobs, runs, audit, list, models] = await Promise.all([
    json<{ jobs: object[] }>(ask(owner, 'GET', { path: `/api/jobs/${estate.jobId}` })),
    json<{ runs: object[] }>(ask(owner, 'GET', { path: '/api/runs' })),
    json<{ rows: object[] }>(ask(owner, 'GET', { path: '/audit?limit=1000' })),
    json<{ keys: object[] }>(ask(owner, 'GET', { path: '/api/keys' })).then(({ keys }) =>
      // It is used to look here.
      keys.map((key) => ({ ...key, last_used_at: null })),
    ),
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
    expect((await ask(owner, 'GET', { path: `/v1/responses/${estate.responseId}` })).status).toBe(200)
  })
})

describe('authorization', () => {
  const open = (url: string) =>
    /^\/(health|ready|openapi\.json|docs(\/.*)?|(tool\/:name|tools-testing(\/:thread)?|models(\/runs\/:id|\/suites\/:name)?|activity(\/:part(\/:id)?)?|approvals(\/:id)?|settings|setup(\/:job)?|connect|runs\/:id|assets\/\*|guide(\/\*)?)?|api\/session(\/oidc(\/callback)?)?|api\/connections\/:provider\/callback|\.well-known\/oauth-protected-resource(\/mcp(\/:name)?)?)$/.test(
      url,
    )
  const pathOf = (url: string) => url.replaceAll(/:\w+|\*/g, 'x')

  test('only the routes about the server itself are for everybody', () => {
    for (const { url, scope } of server.app.knownRoutes.all()) {
      expect([url, scope === null]).toEqual([url, open(url)])
    }
  })

  test('every other route answers 401 without a key, and 403 with one that has every scope but its own', async () => {
    for (const { method, url, scope } of server.app.knownRoutes.all()) {
      if (scope === null || scope === undefined) continue
      const path = pathOf(url)
      expect([method, url, (await ask(undefined, method, { path })).status]).toEqual([method, url, 401])
      const others = SCOPES.filter((one) => ![scope].flat().includes(one))
      const response = await ask(await server.key('tenant-c', 'admin', others), method, { path })
      expect([method, url, response.status]).toEqual([method, url, 403])
      expect(await response.text()).toContain([scope].flat().join("' or '"))
    }
  })
})
