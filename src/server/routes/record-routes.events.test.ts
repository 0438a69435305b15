import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditPage, AuditRow } from '../../core/storage/ledger.ts'
import { INITIALIZE, POST_HEADERS } from '../../mcp/server/fixtures/http-yard.ts'
import { ofSession, rpc } from '../fixtures/isolation-tries.ts'
import { newStoredKey } from '../fixtures/new-stored-key.ts'
import { openTestServer, type TestServer } from '../fixtures/open-server.ts'
import { toolConfig } from '../fixtures/open-tool-server.ts'

let server: TestServer
/** The headers of an administrator of acme, one of globex, and the operator of the installation. */
let acme: Record<string, string>
let globex: Record<string, string>
let whole: Record<string, string>

beforeAll(async () => {
  const { config, handlers } = toolConfig({ hello: async () => 'hello' })
  server = await openTestServer(config, { handlers })
  acme = { 'x-api-key': await server.key('acme') }
  globex = { 'x-api-key': await server.key('globex') }
  whole = { 'x-api-key': await server.key('hq', 'admin', ['read', 'observe', 'manage', 'installation']) }
})
afterAll(() => server.close())

const ask = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
  fetch(server.url + path, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

const idOf = async (key: Record<string, string>): Promise<string> =>
  ((await (await ask('GET', '/api/session', key)).json()) as { id: string }).id

/** The events of a name that somebody sees, newest first, with their details. */
async function events(name: string, headers: Record<string, string>, query = '') {
  const { rows } = (await (await ask('GET', `/audit?type=event&limit=1000${query}`, headers)).json()) as AuditPage
  return rows.filter(({ event }) => event === name).map((row) => ({ ...row, detail: JSON.parse(row.detail ?? 'null') }))
}

const newest = async (name: string, headers: Record<string, string>, query?: string) =>
  (await events(name, headers, query))[0]

describe('keys', () => {
  test('that are created and revoked are events, by the key that did it', async () => {
    const made = await ask('POST', '/api/keys', acme, { name: 'ci', role: 'operator', scopes: ['read', 'call'] })
    const { id, key } = (await made.json()) as { id: string; key: string }
    const by = await idOf(acme)
    expect(await newest('key.created', acme)).toMatchObject({
      tenant: 'acme',
      caller: by,
      source: 'rest',
      subject: id,
      tool: '',
      outcome: 'success',
      attempts: 1,
      detail: { by: 'acme admin', name: 'ci', role: 'operator', scopes: ['read', 'call'], expires_at: null },
    })
    await ask('DELETE', `/api/keys/${id}`, acme)
    await ask('DELETE', `/api/keys/${id}`, acme)
    expect(await events('key.revoked', acme)).toMatchObject([{ caller: by, subject: id, detail: { name: 'ci' } }])
    expect(JSON.stringify(await events('key.created', acme))).not.toContain(key)
  })

  test('that are refused are events of the installation, and of their tenant if they were valid once', async () => {
    const wrong = 'ty_wrong_key_of_a_stranger'
    expect((await ask('GET', '/api/tools/list', { 'x-api-key': wrong })).status).toBe(401)
    expect(await newest('key.refused', whole, '&tenant=*')).toMatchObject({
      tenant: '*',
      caller: null,
      subject: null,
      outcome: 'failure',
      detail: { address: '127.0.0.1' },
    })
    const { stored, text } = newStoredKey('acme', 'user', { name: 'old', revoked_at: new Date().toISOString() })
    const { storage, callers } = server.installation
    await storage.keys.create(stored)
    await callers.load(storage.keys)
    await ask('GET', '/api/tools/list', { authorization: `Bearer ${text}` })
    await ask('GET', '/api/session', { 'x-api-key': text })
    expect((await ask('POST', '/api/session', {}, { key: text })).status).toBe(401)
    server.installation.events.flush()
    const refused = await events('key.refused', acme)
    expect(refused.map(({ subject, attempts }) => [subject, attempts])).toEqual([
      [stored.id, 2],
      [stored.id, 1],
    ])
    expect(refused[0]?.detail).toEqual({ address: '127.0.0.1', name: 'old', until: expect.any(String) })
    expect(await events('key.refused', globex)).toEqual([])
    expect(JSON.stringify([...refused, ...(await events('key.refused', whole, '&tenant=*'))])).not.toMatch(/ty_/)
    const before = (await events('key.refused', whole, '&tenant=*')).length
    await ask('GET', '/api/tools/list', {})
    expect(await events('key.refused', whole, '&tenant=*')).toHaveLength(before)
  })
})

test('flags that change are events of the tenant, with the old and the new value', async () => {
  const change = (flags: object) => ask('PATCH', '/api/tenants/initech', whole, { flags })
  await change({ search: true, beta: false })
  await change({ search: true, beta: true })
  await change({ beta: null, other: null })
  const rows = (await (await ask('GET', '/audit?type=event&tenant=initech', whole)).json()) as AuditPage
  const by = await idOf(whole)
  expect(
    rows.rows
      .toSorted((a, b) => Number(a.id.split(':')[1]) - Number(b.id.split(':')[1]))
      .map(({ event, subject, caller, detail }) => [event, subject, caller === by, JSON.parse(detail ?? '')]),
  ).toEqual([
    ['tenant.created', 'initech', true, { by: 'hq admin' }],
    ['flag.set', 'search', true, { by: 'hq admin', old: null, new: true }],
    ['flag.set', 'beta', true, { by: 'hq admin', old: null, new: false }],
    ['flag.set', 'beta', true, { by: 'hq admin', old: false, new: true }],
    ['flag.removed', 'beta', true, { by: 'hq admin', old: true, new: null }],
  ])
})

test('a sign-in is an event, and repeated sign-ins are one row', async () => {
  for (let n = 0; n < 4; n++) await ask('POST', '/api/session', {}, { key: globex['x-api-key'] })
  const id = await idOf(globex)
  const started = { tenant: 'globex', caller: id, subject: id, detail: { by: 'globex admin', address: '127.0.0.1' } }
  expect(await events('session.started', globex)).toMatchObject([{ ...started, attempts: 1 }])
  server.installation.events.flush()
  expect(await events('session.started', globex)).toMatchObject([{ ...started, attempts: 3 }, started])
})

describe('a caller who asks for another tenant', () => {
  let tries = 0
  /** Asks as globex, and gives the event that only the operator sees. */
  async function cross(method: string, path: string, more: Record<string, string> = {}, body?: unknown) {
    server.installation.events.flush()
    const response = await ask(method, path, { ...globex, ...more }, body)
    expect([path, response.status]).toEqual([path, expect.toSatisfy((status) => status === 403 || status === 404)])
    await expect.poll(() => events('tenant.crossed', whole, '&tenant=*')).toHaveLength(++tries)
    return newest('tenant.crossed', whole, '&tenant=*')
  }
  const ofAcme = async (what: string) => ({
    tenant: '*',
    caller: await idOf(globex),
    subject: 'acme',
    outcome: 'failure',
    detail: { by: 'globex admin', caller_tenant: 'globex', what },
  })

  test.each(['/audit?tenant=acme', '/metrics/tools/execution?tenant=acme', '/api/runs?tenant=acme'])(
    'by name is an event: %s',
    async (path) => {
      expect(await cross('GET', path)).toMatchObject(await ofAcme('tenant'))
    },
  )

  test('to change its flags is an event', async () => {
    expect(await cross('PATCH', '/api/tenants/acme', {}, { flags: { a: true } })).toMatchObject(await ofAcme('flags'))
  })

  test('by the id of a key, a job, a run or an MCP session is an event', async () => {
    const made = await ask('POST', '/api/keys', acme, { name: 'theirs' })
    const { id: key } = (await made.json()) as { id: string }
    expect(await cross('DELETE', `/api/keys/${key}`)).toMatchObject(await ofAcme(`key ${key}`))
    const async = { ...acme, prefer: 'respond-async' }
    const started = await ask('POST', '/tools/execute', async, { tool_name: 'hello', params: {} })
    const { id: job } = (await started.json()) as { id: string }
    for (const method of ['GET', 'DELETE']) {
      expect(await cross(method, `/api/jobs/${job}`)).toMatchObject(await ofAcme(`job ${job}`))
    }
    server.installation.sink.run({
      ...{ id: 'run-of-acme', tenant: 'acme', caller: null, model: 'mini:v1', service: 'mini' },
      ...{ started_at: new Date().toISOString(), duration_ms: 1, stop_reason: 'stop', iterations: 1, tool_calls: 0 },
      ...{ prompt_tokens: 1, completion_tokens: 1, cost: null, error: null, question: '', answer: '', steps: [] },
    })
    expect(await cross('GET', '/api/runs/run-of-acme')).toMatchObject(await ofAcme('run run-of-acme'))
    const opened = await ask('POST', '/mcp', { ...acme, ...POST_HEADERS }, INITIALIZE)
    const session = ofSession(String(opened.headers.get('mcp-session-id')))
    const tried = await cross('POST', '/mcp', { ...POST_HEADERS, ...session }, rpc('tools/list'))
    expect(tried).toMatchObject(await ofAcme('MCP session'))
  })

  test('for what does not exist, or is its own, is none', async () => {
    server.installation.events.flush()
    const before = await events('tenant.crossed', whole, '&tenant=*')
    await ask('GET', '/api/runs/nothing', globex)
    await ask('GET', '/api/jobs/nothing', globex)
    await ask('DELETE', '/api/keys/nothing', globex)
    await ask('PATCH', '/api/tenants/globex', globex, { flags: {} })
    await ask('GET', '/audit?tenant=globex', globex)
    await ask('GET', '/api/runs/run-of-acme', whole)
    // Whatever they left to do comes before this.
    await server.installation.storage.runs.tenantOf('nothing')
    expect(await events('tenant.crossed', whole, '&tenant=*')).toEqual(before)
  })

  test('is not told about it, and neither is the other tenant', async () => {
    expect([await events('tenant.crossed', globex), await events('tenant.crossed', acme)]).toEqual([[], []])
  })
})

test('the configuration and approved MCP tools are events of the installation, without their contents', async () => {
  const { installation } = server
  await installation.pins.write('files', { read: 'secret-hash' })
  expect(await newest('mcp.pinned', whole, '&tenant=*')).toMatchObject({ subject: 'files', detail: { tools: 1 } })
  await installation.reload()
  await installation.reload()
  const [first, second] = await events('config.loaded', whole, '&tenant=*')
  expect(first).toMatchObject({ tenant: '*', caller: null, detail: { tools: 1 } })
  expect(first?.params_hash).toMatch(/^[0-9a-f]{64}$/)
  expect(second?.params_hash).toBe(first?.params_hash)
})

test('events count as no calls, and the chain covers them', async () => {
  const figures = (await (await ask('GET', '/metrics/tools/execution?tenant=*', whole)).json()) as object
  expect(figures).toMatchObject({ total: 1, tools: { hello: { total: 1 } } })
  const calls = (await (await ask('GET', '/audit?type=call&tenant=*', whole)).json()) as AuditPage
  expect(calls.rows).toMatchObject([{ tool: 'hello', event: null }])
  const both = (await (await ask('GET', '/audit?tenant=*&limit=1000&format=json', whole)).json()) as AuditRow[]
  const { ledger } = server.installation.storage
  expect(await ledger.verify()).toMatchObject({ rows: both.length, faults: [] })
  const database = new DatabaseSync(join(server.folder, 'toolyard.db'))
  const { seq } = database.prepare("SELECT seq FROM audit WHERE event = 'key.created' LIMIT 1").get() as { seq: number }
  database.prepare('UPDATE audit SET subject = ? WHERE seq = ?').run('harmless', seq)
  database.close()
  expect((await ledger.verify()).faults).toMatchObject([{ at: seq }])
})
