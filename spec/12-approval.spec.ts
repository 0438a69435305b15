import { randomUUID } from 'node:crypto'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { toolyard } from '../src/cli/fixtures/toolyard.ts'
import { systemClock } from '../src/core/clock.ts'
import type { ToolDefinition } from '../src/core/tool.ts'
import { openScriptedServer } from '../src/server/fixtures/open-scripted-server.ts'
import { openTestServer, type TestServer } from '../src/server/fixtures/open-server.ts'
import { toolConfig } from '../src/server/fixtures/open-tool-server.ts'
import { openPage } from '../test/browser/open-browser.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

const DAY_MS = 86_400_000
const AMOUNT = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }
const run = vi.fn(async (params: unknown) => ({ paid: params }))
const look = vi.fn(async () => ({ seen: true }))
const pay = (more: object = {}) => ({ run, parameters: AMOUNT, approval: true, ...more })
const TOOLS = {
  pay: pay(),
  pay_large: pay({ approval: { when: { properties: { amount: { minimum: 1_000_000 } } } } }),
  pay_admin: pay({ approval: { by: ['admin'] } }),
  pay_self: pay({ approval: { self: true } }),
  pay_soon: pay({ approval: { expires_ms: 60_000 } }),
  pay_once: pay({ rate_limit: { calls: 1, per_ms: DAY_MS } }),
  pay_flagged: pay({ permissions: ['payments'] }),
  look: { run: look, approval: true, effect: 'read', cache: { ttl_ms: DAY_MS } },
} as const

let server: TestServer
let later = 0
let amount = 0
let [asker, operator, admin, other] = ['', '', '', '']
/** Parameters that no other scenario uses. */
const params = () => ({ amount: ++amount })

beforeAll(async () => {
  const { config, handlers } = toolConfig(TOOLS)
  server = await openTestServer(config, { handlers, clock: { ...systemClock, wall: () => Date.now() + later } })
  asker = await server.key('acme', 'user')
  operator = await server.key('acme', 'operator')
  admin = await server.key('acme', 'admin')
  other = await server.key('globex', 'admin')
})
afterAll(() => server.close())
beforeEach(() => {
  run.mockClear()
  look.mockClear()
})

async function send(method: string, path: string, key: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(server.url + path, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: JSON.parse(await response.text()) }
}
const call = (tool_name: string, given: object, approval_id?: string, key = asker, headers = {}) =>
  send('POST', '/tools/execute', key, { tool_name, params: given, ...(approval_id && { approval_id }) }, headers)
const ask = async (tool: string, given: object, key = asker): Promise<string> =>
  (await call(tool, given, undefined, key)).body.details.approval.id
const decide = (id: string, body: object, key = operator) => send('POST', `/api/approvals/${id}`, key, body)
const approve = (id: string, more: object = {}, key = operator) => decide(id, { decision: 'approve', ...more }, key)
const pending = async () => (await send('GET', '/api/approvals', operator)).body.pending

describe('Approval', () => {
  test('[12.1-1] approval on a definition is true or {when?: <JSON Schema that the parameters match>, by?: [roles] (operator, admin), self? (false), expires_ms? (24 h)}', async () => {
    const { expires_at } = (await call('pay', params())).body.details.approval
    expect(Math.abs(Date.parse(expires_at) - Date.now() - DAY_MS)).toBeLessThan(600_000)
    expect((await call('pay_large', { amount: 999_999 })).body.success).toBe(true)
    expect((await call('pay_large', { amount: 1_000_000 })).body.error_code).toBe('APPROVAL_REQUIRED')
    const soon = (await call('pay_soon', params())).body.details.approval.expires_at
    expect(Date.parse(soon) - Date.now()).toBeLessThanOrEqual(60_000)
  })

  test('[12.1-2] The order is permission, validation, limits, stored answer of an idempotency key (returned without asking), approval, cache, run', async () => {
    expect((await call('pay_flagged', { amount: 'much' })).body.error_code).toBe('PERMISSION_DENIED')
    expect((await call('pay', { amount: 'much' })).body.error_code).toBe('INVALID_PARAMETERS')
    const [given, headers] = [params(), { 'idempotency-key': randomUUID() }]
    const { id } = (await call('pay', given, undefined, asker, headers)).body.details.approval
    await approve(id)
    await call('pay', given, id, asker, headers)
    expect((await call('pay', given, undefined, asker, headers)).body.result).toEqual({ paid: given })
    const first = await ask('look', {})
    await approve(first)
    await call('look', {}, first)
    const second = await ask('look', {})
    await approve(second)
    expect((await call('look', {}, second)).body.success).toBe(true)
    expect([run, look].map(({ mock }) => mock.calls.length)).toEqual([1, 1])
  })

  test('[12.1-3] Asking and running count once against limits', async () => {
    const key = await server.key('acme', 'user', undefined, 1)
    const given = params()
    const id = await ask('pay', given, key)
    await approve(id)
    expect((await call('pay', given, id, key)).body.success).toBe(true)
    expect((await call('pay', given, id, key)).body.error_code).toBe('RATE_LIMITED')
  })

  test('[12.1-4] Permission, validation and limits come first: nobody is asked about a call that could not run', async () => {
    await call('pay_once', params())
    const before = await pending()
    const refused = [await call('pay_flagged', params()), await call('pay', {}), await call('pay_once', params())]
    expect(refused.map(({ body }) => body.error_code)).toEqual([
      'PERMISSION_DENIED',
      'INVALID_PARAMETERS',
      'RATE_LIMITED',
    ])
    expect(await pending()).toBe(before)
  })

  test('[12.1-5] When a call in a run needs approval, the other calls of the turn run and the run pauses (status: "waiting", stop_reason: "approval_required", approvals: [{id, tool, params, requested_at, expires_at}])', async () => {
    const { ask, tools } = await waitingRun()
    const times = { requested_at: expect.any(String), expires_at: expect.any(String) }
    expect(await ask()).toMatchObject({
      ...{ status: 'waiting', stop_reason: 'approval_required' },
      approvals: [{ id: expect.any(String), tool: 'pay', params: { amount: 5 }, ...times }],
    })
    expect([tools.look.mock.calls.length, tools.pay.mock.calls.length]).toEqual([1, 0])
  })

  test('[12.1-6] A paused run goes on by itself when its last approval is decided', async () => {
    const { ask, decideRun, ended, tools } = await waitingRun(2)
    const { run_id, approvals } = await ask()
    await decideRun(approvals[0].id, 'approve')
    expect(tools.pay).not.toHaveBeenCalled()
    await decideRun(approvals[1].id, 'approve')
    expect(await ended(run_id)).toMatchObject({ status: 'finished', answer: 'Done.' })
    expect(tools.pay).toHaveBeenCalledTimes(2)
  })

  test('[12.1-7] The model is told about a rejected call, with the reason', async () => {
    const { ask, decideRun, ended, model, tools } = await waitingRun()
    const { run_id, approvals } = await ask()
    await decideRun(approvals[0].id, 'reject', 'Not this month')
    await ended(run_id)
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('was rejected: Not this month')
    expect(tools.pay).not.toHaveBeenCalled()
  })

  test('[12.1-8] The person who approves may change the parameters. They are validated again, and the record shows both', async () => {
    const given = params()
    const id = await ask('pay', given)
    expect((await approve(id, { params: { amount: 'little' } })).status).toBe(400)
    await approve(id, { params: { amount: 0.5 } })
    expect((await call('pay', given, id)).body.result).toEqual({ paid: { amount: 0.5 } })
    const { body } = await send('GET', `/api/approvals/${id}`, operator)
    expect(body).toMatchObject({ params: given, approved_params: { amount: 0.5 } })
  })

  test('[12.1-9] A direct call (REST, MCP, library) that needs approval gives a failure envelope APPROVAL_REQUIRED (HTTP 403, the tenth code) with details.approval {id, expires_at}', async () => {
    const given = params()
    const { status, body } = await call('pay', given)
    const details = { approval: { id: expect.any(String), expires_at: expect.any(String) } }
    expect([status, body]).toMatchObject([403, { success: false, error_code: 'APPROVAL_REQUIRED', details }])
    const library = await server.installation.manager.getExecutor().execute('pay', given)
    expect(library).toMatchObject({ success: false, error_code: 'APPROVAL_REQUIRED', details })
    const { client } = await mcpClient()
    const { structuredContent } = await client.callTool({ name: 'pay', arguments: given })
    expect(structuredContent).toMatchObject({ error_code: 'APPROVAL_REQUIRED', details })
  })

  test('[12.1-10] The same call with approval_id (and the original parameters) runs what was approved, once. A repeat returns the stored envelope', async () => {
    const given = params()
    const id = await ask('pay', given)
    await approve(id)
    const all = await Promise.all([1, 2, 3].map(() => call('pay', given, id)))
    for (const { body } of all) expect(body).toMatchObject({ success: true, result: { paid: given } })
    expect(run).toHaveBeenCalledTimes(1)
  })

  test('[12.1-11] An approval is bound to tenant, caller, tool, version and the hash of the parameters asked for', async () => {
    const given = params()
    const id = await ask('pay', given)
    await approve(id)
    const codes = [
      (await call('pay', given, id, other)).body.error_code,
      (await call('pay', given, id, admin)).body.error_code,
      (await call('pay_self', given, id)).body.error_code,
      (await call('pay', params(), id)).body.error_code,
    ]
    expect(codes).toEqual(['APPROVAL_REQUIRED', 'APPROVAL_REQUIRED', 'INVALID_PARAMETERS', 'INVALID_PARAMETERS'])
    const registry = server.installation.manager.getRegistry()
    const [definition] = registry.definitions().filter(({ name }) => name === 'pay')
    for (const version of ['1.0.0', '2.0.0']) {
      registry.register({ ...(definition as ToolDefinition), name: 'pay_versions', version })
    }
    const first = await ask('pay_versions@1.0.0', given)
    await approve(first)
    expect((await call('pay_versions@2.0.0', given, first)).body.error_code).toBe('PERMISSION_DENIED')
    expect(run).not.toHaveBeenCalled()
    expect((await call('pay_versions@1.0.0', given, first)).body.success).toBe(true)
    const pause = await server.installation.storage.pauses.get('acme', id)
    expect(pause).toMatchObject({ tenant: 'acme', tool: 'pay', version: '0.0.0', params_hash: expect.any(String) })
  })

  test('[12.1-12] An identical call while an approval is pending gets the same id', async () => {
    const given = params()
    expect(await ask('pay', given)).toBe(await ask('pay', { ...given }))
  })

  test('[12.1-13] A caller may have at most 100 pending approvals. More give RATE_LIMITED', async () => {
    const key = await server.key('busy', 'user')
    await Promise.all(Array.from({ length: 100 }, () => ask('pay', params(), key)))
    expect(await call('pay', params(), undefined, key)).toMatchObject({
      status: 429,
      body: { error_code: 'RATE_LIMITED' },
    })
  })

  test('[12.1-14] GET /api/approvals?status=pending lists approvals, and POST /api/approvals/:id {decision: "approve" | "reject", params?, reason?} decides one', async () => {
    const id = await ask('pay', params())
    const listed = async () =>
      (await send('GET', '/api/approvals?status=pending&limit=200', operator)).body.approvals.map(
        (one: { id: string }) => one.id,
      )
    expect(await listed()).toContain(id)
    expect((await decide(id, { decision: 'reject', reason: 'No' })).body).toMatchObject({ status: 'rejected' })
    expect(await listed()).not.toContain(id)
    expect((await decide(id, { decision: 'perhaps' })).status).toBe(400)
  })

  test('[12.1-15] toolyard approvals list|approve|reject lists and decides approvals', async () => {
    // The store is that of the server; the command has the tool from its own configuration.
    const env = { TOOLYARD_DATA: server.folder, TOOLYARD_CONFIG: `${server.folder}/approvals.json` }
    const { run: _, ...definition } = pay({ implementation: { type: 'mock', mock_response: 1 } })
    const mock = { name: 'pay_mock', description: 'Pays', ...definition }
    server.installation.manager.getRegistry().register(mock as never)
    const [one, two] = [await ask('pay_mock', params()), await ask('pay_mock', params())]
    const { writeFile } = await import('node:fs/promises')
    await writeFile(env.TOOLYARD_CONFIG, JSON.stringify({ tools: { enabled: true, registry: [mock] } }))
    expect((await toolyard(['approvals', 'list', '--tenant', 'acme'], { env })).out).toContain(one)
    expect((await toolyard(['approvals', 'approve', one], { env })).out).toBe(`Approved ${one}\n`)
    expect((await toolyard(['approvals', 'reject', two, '--reason', 'No'], { env })).out).toBe(`Rejected ${two}\n`)
  })

  test('[12.1-16] The page has an inbox for approvals', async () => {
    const key = await server.key('inbox', 'operator')
    await ask('pay', { amount: 12_345 }, await server.key('inbox', 'user'))
    const { page } = await openPage()
    await page.goto(`${server.url}/approvals`)
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('12345').waitFor()
    await page.getByRole('link', { name: 'Approvals 1' }).waitFor()
  })

  test('[12.1-17] Over MCP, an approval is a URL elicitation if the client offers it', async () => {
    const { client, questions } = await mcpClient({ url: {} })
    await client.callTool({ name: 'pay', arguments: params() })
    expect(questions).toMatchObject([{ mode: 'url', url: expect.stringContaining(`${server.url}/approvals/`) }])
  })

  test('[12.1-18] Deciding needs the new scope approve (operator, admin) and a role in by', async () => {
    const id = await ask('pay_admin', params())
    for (const key of [asker, operator, await server.key('acme', 'admin', ['read', 'call'])]) {
      expect((await approve(id, {}, key)).status).toBe(403)
    }
    expect((await approve(id, {}, admin)).status).toBe(200)
  })

  test('[12.1-19] The asker never decides, neither by the same key or user nor by a key which that key created, unless self: true', async () => {
    const child = (await send('POST', '/api/keys', admin, { name: 'child', role: 'operator' })).body.key
    const id = await ask('pay', params(), admin)
    for (const key of [admin, child]) expect((await approve(id, {}, key)).status).toBe(403)
    expect((await approve(id)).status).toBe(200)
    expect((await approve(await ask('pay_self', params(), admin), {}, admin)).status).toBe(200)
  })

  test('[12.1-20] On a keyless server the local caller decides, on the page or the command line only', async () => {
    const { config, handlers } = toolConfig({ pay: TOOLS.pay })
    const local = await openTestServer(config, { handlers, local: true })
    onTestFinished(() => local.close())
    const post = async (path: string, body: object, headers = {}) => {
      const sent = { 'content-type': 'application/json', ...headers }
      const response = await fetch(local.url + path, { method: 'POST', headers: sent, body: JSON.stringify(body) })
      return { status: response.status, body: JSON.parse(await response.text()) }
    }
    const { id } = (await post('/tools/execute', { tool_name: 'pay', params: params() })).body.details.approval
    expect((await post(`/api/approvals/${id}`, { decision: 'approve' })).status).toBe(403)
    const page = { origin: local.url }
    expect((await post(`/api/approvals/${id}`, { decision: 'approve' }, page)).status).toBe(200)
  })

  test("[12.1-21] Form elicitation and the AI SDK's tool-approval-request are answered by the asker, so they decide only with self: true. Otherwise the client gets a URL elicitation or a pending part that leads to the inbox", async () => {
    const { client, questions } = await mcpClient({ form: {} }, operator)
    const answers = [
      await client.callTool({ name: 'pay', arguments: params() }),
      await client.callTool({ name: 'pay_self', arguments: params() }),
    ]
    expect([answers.map(({ isError }) => isError === true), questions.length]).toEqual([[true, false], 1])
    const { url } = await waitingRun()
    const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Pay' }] }]
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ id: 'chat', trigger: 'submit-message', messages })
    const text = await (await fetch(`${url}/api/ai-sdk/chat`, { method: 'POST', headers, body })).text()
    expect(text).toMatch(/"type":"data-toolyard-approval".*"url":"\/approvals\//)
    expect(text).not.toContain('tool-approval-request')
  })

  test('[12.1-22] Every decision is in the audit log with the person who decided', async () => {
    const id = await ask('pay', params())
    await approve(id)
    const { rows } = (await send('GET', '/audit?type=event&limit=1000', operator)).body
    const [decided] = rows.filter((row: { event: string; subject: string }) => row.subject === id)
    const { id: caller, name } = server.installation.callers.find(operator) ?? {}
    expect(decided).toMatchObject({ event: 'approval.decided', caller })
    expect(JSON.parse(decided.detail)).toMatchObject({ by: name, decision: 'approve' })
  })

  test('[12.1-23] A rejected call gives PERMISSION_DENIED with the reason, and nothing runs', async () => {
    const given = params()
    const id = await ask('pay', given)
    await decide(id, { decision: 'reject', reason: 'Not this month' })
    const { body } = await call('pay', given, id)
    expect(body).toMatchObject({ error_code: 'PERMISSION_DENIED', error: expect.stringContaining('Not this month') })
    expect(run).not.toHaveBeenCalled()
  })

  test('[12.1-24] An expired approval gives APPROVAL_REQUIRED with a new id, and nothing runs', async () => {
    const given = params()
    const id = await ask('pay_soon', given)
    later = 60_001
    const { body } = await call('pay_soon', given, id)
    later = 0
    expect(body.error_code).toBe('APPROVAL_REQUIRED')
    expect(body.details.approval.id).not.toBe(id)
    expect(run).not.toHaveBeenCalled()
  })

  test('[12.1-25] A second decision answers 409', async () => {
    const id = await ask('pay', params())
    const both = await Promise.all([approve(id), decide(id, { decision: 'reject' }, admin)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  test("[12.1-26] Another tenant's approval answers 404", async () => {
    const id = await ask('pay', params())
    expect((await send('GET', `/api/approvals/${id}`, other)).status).toBe(404)
    expect((await approve(id, {}, other)).status).toBe(404)
  })

  test('[12.1-27] The audit row has both hashes, the approval row both parameters', async () => {
    const given = params()
    const id = await ask('pay', given)
    await approve(id, { params: { amount: 0.25 } })
    await call('pay', given, id)
    const { rows } = (await send('GET', '/audit?limit=1000', operator)).body
    const of = (event: string | null, outcome: string) =>
      rows.find((row: Record<string, unknown>) => row.subject === id && row.event === event && row.outcome === outcome)
    const [asked, ran] = [of(null, 'failure'), of(null, 'success')]
    expect(JSON.parse(ran.detail)).toEqual({ asked_params_hash: asked.params_hash })
    expect(ran.params_hash).not.toBe(asked.params_hash)
    const pause = await server.installation.storage.pauses.get('acme', id)
    expect(pause).toMatchObject({ params: given, decided_params: { amount: 0.25 } })
  })
})

/** A server whose model looks and pays, some times in one turn. */
async function waitingRun(payments = 1) {
  const tools = { look: vi.fn(() => 'seen'), pay: vi.fn(() => 'paid') }
  const pays = Array.from({ length: payments }, (_, index) => ({ name: 'pay', arguments: { amount: 5 + index } }))
  const scriptedServer = await openScriptedServer([{ calls: [{ name: 'look' }, ...pays] }, 'Done.'], { tools })
  const { url, installation, model } = scriptedServer
  const registry = installation.manager.getRegistry()
  const implementation = { type: 'internal', handler: 'pay' }
  registry.register({ name: 'pay', description: 'Pays', parameters: AMOUNT, implementation, approval: true })
  const post = async (path: string, body: object) => {
    // The local caller decides on the page.
    const headers = { 'content-type': 'application/json', origin: url }
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return JSON.parse(await response.text())
  }
  return {
    ...{ url, model, tools },
    ask: () => post('/chat', { message: 'Pay' }),
    decideRun: (id: string, decision: string, reason?: string) => post(`/api/approvals/${id}`, { decision, reason }),
    async ended(id: string) {
      const get = async () => JSON.parse(await (await fetch(`${url}/api/runs/${id}`)).text())
      await vi.waitFor(async () => expect((await get()).status).toBe('finished'), { timeout: 30_000 })
      return get()
    },
  }
}

/** A client that answers every question with yes. */
async function mcpClient(
  elicitation?: { readonly url?: Record<string, never>; readonly form?: Record<string, never> },
  key = asker,
) {
  const client = new Client({ name: 'spec', version: '1' }, { capabilities: { ...(elicitation && { elicitation }) } })
  const questions: unknown[] = []
  if (elicitation !== undefined) {
    client.setRequestHandler('elicitation/create', async (question) => {
      questions.push(question.params)
      return { action: 'accept', ...(elicitation.form && { content: {} }) }
    })
  }
  const requestInit = { headers: { 'x-api-key': key } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }))
  onTestFinished(() => client.close())
  return { client, questions }
}
