import { hash, randomUUID } from 'node:crypto'
import { Client, type ClientCapabilities, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { callKey } from '../../core/execution/result-cache.ts'
import type { StoredKey } from '../../core/storage/key-store.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { openStorage } from '../../storage/open-storage.ts'
import { newStoredKey } from '../fixtures/new-stored-key.ts'
import { openTestServer, type TestServer } from '../fixtures/open-server.ts'
import { type TestTool, toolConfig } from '../fixtures/open-tool-server.ts'

const DAY_MS = 86_400_000
const run = vi.fn(async (params: unknown) => ({ paid: params }))
const look = vi.fn(async () => ({ seen: true }))
const AMOUNT = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }
const pay = (more: Partial<ToolDefinition>): TestTool => ({ run, parameters: AMOUNT, approval: true, ...more })
const large = { properties: { amount: { minimum: 100 } } }

const TOOLS: Readonly<Record<string, TestTool>> = {
  pay: pay({}),
  pay_large: pay({ approval: { when: large } }),
  pay_admin: pay({ approval: { by: ['admin'] } }),
  pay_self: pay({ approval: { self: true } }),
  pay_soon: pay({ approval: { expires_ms: 60_000 } }),
  pay_limited: pay({ rate_limit: { calls: 1, per_ms: 3_600_000 } }),
  pay_flagged: pay({ permissions: ['payments'] }),
  look: { run: look, approval: true, effect: 'read', cache: { ttl_ms: DAY_MS } },
  fail: { run: () => Promise.reject(new Error('The bank said no')), approval: true },
}

let server: TestServer
let later = 0
const keys: Record<'asker' | 'operator' | 'admin' | 'user' | 'other', string> = Object.create(null)
const ids: Record<string, string> = Object.create(null)

async function addKey(tenant: string, role: StoredKey['role'], more: Partial<StoredKey> = {}): Promise<string> {
  const { text, stored } = newStoredKey(tenant, role, more)
  await server.installation.storage.keys.create(stored)
  await server.installation.callers.load(server.installation.storage.keys)
  ids[text] = stored.id
  return text
}

beforeAll(async () => {
  const { config, handlers } = toolConfig(TOOLS)
  const clock = { ...systemClock, wall: () => systemClock.wall() + later }
  server = await openTestServer(config, { handlers, clock })
  keys.asker = await addKey('acme', 'user', { name: 'asker' })
  keys.operator = await addKey('acme', 'operator', { name: 'olga' })
  keys.admin = await addKey('acme', 'admin')
  keys.user = await addKey('acme', 'user')
  keys.other = await addKey('globex', 'admin')
})
afterAll(() => server.close())
beforeEach(() => {
  run.mockClear()
  look.mockClear()
})

interface Sent {
  readonly key?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

async function send(method: string, path: string, { key = keys.asker, body, headers = {} }: Sent = {}) {
  const response = await fetch(server.url + path, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: JSON.parse(await response.text()) }
}

const call = (tool_name: string, params: unknown, more: object = {}, sent: Sent = {}) =>
  send('POST', '/tools/execute', { ...sent, body: { tool_name, params, ...more } })

const idOf = async (tool: string, params: unknown, sent: Sent = {}): Promise<string> =>
  (await call(tool, params, {}, sent)).body.details.approval.id

const decide = (id: string, body: object, key = keys.operator) => send('POST', `/api/approvals/${id}`, { key, body })
const approve = (id: string, more: object = {}, key?: string) => decide(id, { decision: 'approve', ...more }, key)

/** Parameters that no other test uses. */
let amount = 0
const params = () => ({ amount: ++amount })

/** Adds a tool, or replaces it. */
const define = (name: string, more: Partial<ToolDefinition>): void =>
  server.installation.manager.getRegistry().register({
    ...{ name, description: 'Pays', parameters: AMOUNT, approval: true, ...more },
    implementation: { type: 'internal', handler: 'pay' },
  })

describe('a call that needs approval', () => {
  test('is answered with 403 APPROVAL_REQUIRED, and runs once with the approval', async () => {
    const asked = params()
    const { status, body } = await call('pay', asked)
    expect([status, body]).toEqual([
      403,
      expect.objectContaining({
        success: false,
        error_code: 'APPROVAL_REQUIRED',
        details: { approval: { id: expect.any(String), expires_at: expect.stringMatching(/Z$/) } },
      }),
    ])
    const { id, expires_at } = body.details.approval
    expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(DAY_MS - 60_000)
    expect((await call('pay', asked, { approval_id: id })).body.details.approval.id).toBe(id)
    expect(run).not.toHaveBeenCalled()

    expect(await approve(id)).toMatchObject({ status: 200, body: { status: 'approved', decided_by_name: 'olga' } })
    const results = await Promise.all([1, 2, 3].map(() => call('pay', asked, { approval_id: id })))
    for (const result of results) expect(result.body).toMatchObject({ success: true, result: { paid: asked } })
    expect((await call('pay', asked, { approval_id: id })).body.result).toEqual({ paid: asked })
    expect(run).toHaveBeenCalledTimes(1)
  })

  test('returns the stored failure to a repeat', async () => {
    const id = await idOf('fail', {})
    await approve(id)
    const first = await call('fail', {}, { approval_id: id })
    expect(first.body).toMatchObject({ error_code: 'EXECUTION_ERROR', error: 'The bank said no' })
    expect((await call('fail', {}, { approval_id: id })).body.error).toBe('The bank said no')
  })

  test('is not run again if the server that ran it has died: its outcome is unknown', async () => {
    const asked = params()
    const id = await idOf('pay', asked)
    await approve(id)
    const dead = await openStorage({ folder: server.folder, instance: randomUUID(), keepDays: 7 }, { log: server.log })
    const fingerprint = hash('sha256', callKey('pay', 'acme', asked))
    const claim = { tenant: 'acme', caller: ids[keys.asker] as string, key: `approval\n${id}`, fingerprint }
    expect(await dead.once.claim({ ...claim, expiresAt: Date.now() + DAY_MS })).toEqual({ state: 'fresh' })
    await dead.close()
    const { body } = await call('pay', asked, { approval_id: id })
    expect(body).toMatchObject({ error_code: 'EXECUTION_ERROR', outcome: 'unknown' })
    expect(body.error).toContain('The server that ran the approved call has died')
    expect(run).not.toHaveBeenCalled()
  })

  test('runs without approval if its parameters do not match "when"', async () => {
    expect((await call('pay_large', { amount: 99 })).body.success).toBe(true)
    expect((await call('pay_large', { amount: 100 })).body.error_code).toBe('APPROVAL_REQUIRED')
  })

  test('gets the same id while it is pending, whatever the order of its parameters', async () => {
    const { amount } = params()
    const first = await idOf('pay', { amount, to: 'Ada' })
    expect(await idOf('pay', { to: 'Ada', amount })).toBe(first)
    expect(await idOf('pay', { amount, to: 'Bob' })).not.toBe(first)
    expect(await idOf('pay', { amount, to: 'Ada' }, { key: keys.user })).not.toBe(first)
    await approve(first)
    // Approved and not run yet: nobody is asked again.
    expect(await idOf('pay', { amount, to: 'Ada' })).toBe(first)
    await call('pay', { amount, to: 'Ada' }, { approval_id: first })
    expect(await idOf('pay', { amount, to: 'Ada' })).not.toBe(first)
  })

  test('asks nobody if permission, parameters or limits refuse it', async () => {
    const pending = async () => (await send('GET', '/api/approvals', { key: keys.operator })).body.pending
    const before = await pending()
    expect((await call('pay_flagged', params())).body.error_code).toBe('PERMISSION_DENIED')
    expect((await call('pay', { amount: 'much' })).body.error_code).toBe('INVALID_PARAMETERS')
    const asked = params()
    const id = await idOf('pay_limited', asked)
    expect((await call('pay_limited', params())).body.error_code).toBe('RATE_LIMITED')
    expect(await pending()).toBe(before + 1)
    // Asking has counted: running does not count again, but a repeat does.
    await approve(id)
    expect((await call('pay_limited', params(), { approval_id: id })).body.error_code).toBe('RATE_LIMITED')
    expect((await call('pay_limited', asked, { approval_id: id })).body.success).toBe(true)
    expect((await call('pay_limited', asked, { approval_id: id })).body.error_code).toBe('RATE_LIMITED')
    expect((await call('pay_limited', asked, { approval_id: randomUUID() })).body.error_code).toBe('RATE_LIMITED')
  })

  test('an approval fits only its tenant, caller, tool and parameters', async () => {
    const asked = params()
    const id = await idOf('pay', asked)
    await approve(id)
    const used = async (tool: string, given: unknown, key = keys.asker) =>
      (await call(tool, given, { approval_id: id }, { key })).body
    expect((await used('pay', params())).error_code).toBe('INVALID_PARAMETERS')
    expect((await used('pay_self', asked)).error_code).toBe('INVALID_PARAMETERS')
    for (const key of [keys.user, keys.other]) {
      const { error_code, details } = await used('pay', asked, key)
      expect([error_code, details.approval.id]).toEqual(['APPROVAL_REQUIRED', expect.not.stringMatching(id)])
    }
    expect(run).not.toHaveBeenCalled()
    expect((await used('pay', asked)).success).toBe(true)
  })

  test('with an idempotency key it is asked about once, and its answer is returned without asking', async () => {
    const asked = params()
    const headers = { 'idempotency-key': randomUUID() }
    const id = await idOf('pay', asked, { headers })
    await approve(id)
    expect((await call('pay', asked, { approval_id: id }, { headers })).body.success).toBe(true)
    expect((await call('pay', asked, {}, { headers })).body).toMatchObject({ success: true, result: { paid: asked } })
    expect((await call('pay', params(), {}, { headers })).body.error_code).toBe('INVALID_PARAMETERS')
    expect(run).toHaveBeenCalledTimes(1)
  })

  test('a cached answer is not given without approval', async () => {
    const id = await idOf('look', {})
    await approve(id)
    expect((await call('look', {}, { approval_id: id })).body.success).toBe(true)
    const second = await idOf('look', {})
    expect(second).not.toBe(id)
    await approve(second)
    expect((await call('look', {}, { approval_id: second })).body.success).toBe(true)
    expect(look).toHaveBeenCalledTimes(1)
  })

  test('after 100 pending ones a caller gets RATE_LIMITED', async () => {
    const key = await addKey('acme', 'user')
    const all = await Promise.all(Array.from({ length: 100 }, () => call('pay', params(), {}, { key })))
    expect(new Set(all.map(({ body }) => body.error_code))).toEqual(new Set(['APPROVAL_REQUIRED']))
    const { status, body } = await call('pay', params(), {}, { key })
    expect([status, body.error_code]).toEqual([429, 'RATE_LIMITED'])
    expect(body.error).toContain('100 pending approvals')
  })

  test('as a job it needs approval, too', async () => {
    const asked = params()
    const headers = { prefer: 'respond-async' }
    const ended = async (more: object) => {
      const { body } = await call('pay', asked, more, { headers })
      return vi.waitUntil(async () => (await send('GET', `/api/jobs/${body.id}`)).body.result, { timeout: 30_000 })
    }
    const { error_code, details } = await ended({})
    expect(error_code).toBe('APPROVAL_REQUIRED')
    await approve(details.approval.id)
    expect(await ended({ approval_id: details.approval.id })).toMatchObject({ result: { paid: asked } })
    expect(await ended({ approval_id: details.approval.id })).toMatchObject({ result: { paid: asked } })
    expect(run).toHaveBeenCalledTimes(1)
  })
})

describe('deciding', () => {
  test('the person who approves may change the parameters, and both are recorded', async () => {
    const asked = params()
    const id = await idOf('pay', asked)
    expect((await approve(id, { params: { amount: 'little' } })).status).toBe(400)
    const changed = { ...asked, amount: 0.5 }
    const decided = (await approve(id, { params: changed, reason: 'Too much' })).body
    expect(decided).toMatchObject({ params: asked, approved_params: changed, reason: 'Too much' })
    expect((await call('pay', asked, { approval_id: id })).body).toMatchObject({
      result: { paid: changed },
      warnings: ["A person changed the parameters of tool 'pay' when they approved the call"],
    })
    expect((await call('pay', asked, { approval_id: id })).body.result).toEqual({ paid: changed })
    expect((await call('pay', changed, { approval_id: id })).body.error_code).toBe('INVALID_PARAMETERS')
    expect(run).toHaveBeenCalledTimes(1)

    const { rows } = (await send('GET', '/audit?limit=50', { key: keys.operator })).body
    const of = (what: object) => rows.filter((row: object) => expect.objectContaining(what).asymmetricMatch(row))
    const [event] = of({ event: 'approval.decided', subject: id })
    expect([event.caller, JSON.parse(event.detail)]).toEqual([
      ids[keys.operator],
      { by: 'olga', tool: 'pay', decision: 'approve', changed: true, reason: 'Too much' },
    ])
    const [question] = of({ event: 'approval.asked', subject: id })
    const [first] = of({ event: null, subject: id, outcome: 'success' }).toReversed()
    expect([question.caller, question.source]).toEqual([ids[keys.asker], null])
    expect(JSON.parse(first.detail)).toEqual({ asked_params_hash: question.params_hash })
    expect(first.params_hash).toBe(event.params_hash)
    expect(first.params_hash).not.toBe(question.params_hash)
    const verified = await server.installation.storage.ledger.verify()
    expect(verified.faults).toEqual([])
  })

  test('a rejected call gets PERMISSION_DENIED with the reason', async () => {
    const asked = params()
    const id = await idOf('pay', asked)
    await decide(id, { decision: 'reject', reason: 'Not this month' })
    const { status, body } = await call('pay', asked, { approval_id: id })
    expect([status, body.error_code]).toEqual([403, 'PERMISSION_DENIED'])
    expect(body.error).toContain('Not this month')
    expect(run).not.toHaveBeenCalled()
    // It may ask again.
    expect(await idOf('pay', asked)).not.toBe(id)
  })

  test('a second decision is 409, and one of two at once counts', async () => {
    const id = await idOf('pay', params())
    const both = await Promise.all([approve(id), decide(id, { decision: 'reject' }, keys.admin)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
    expect((await decide(id, { decision: 'reject' })).body.error).toMatch(/was (approved|rejected) by/)
  })

  test('another tenant gets 404, for reading and deciding', async () => {
    const id = await idOf('pay', params())
    expect((await send('GET', `/api/approvals/${id}`, { key: keys.other })).status).toBe(404)
    expect((await approve(id, {}, keys.other)).status).toBe(404)
    const { approvals } = (await send('GET', '/api/approvals', { key: keys.other })).body
    expect(approvals.every(({ tenant }: { tenant: string }) => tenant === 'globex')).toBe(true)
    expect((await send('GET', `/api/approvals/${id}`, { key: keys.operator })).body.status).toBe('pending')
  })

  test('needs the scope approve and a role in "by"', async () => {
    const id = await idOf('pay_admin', params())
    expect((await approve(id, {}, keys.user)).status).toBe(403)
    const { status, body } = await approve(id, {}, keys.operator)
    expect([status, body.error]).toEqual([403, expect.stringContaining('by the role admin')])
    expect((await send('GET', `/api/approvals/${id}`, { key: keys.operator })).body.refused).toBe(body.error)
    const narrow = await addKey('acme', 'admin', { tools: ['get_*'] })
    expect((await approve(id, {}, narrow)).status).toBe(403)
    const without = await addKey('acme', 'admin', { scopes: ['read', 'call'] })
    expect((await approve(id, {}, without)).status).toBe(403)
    expect((await approve(id, {}, keys.admin)).status).toBe(200)
  })

  test('the asker never decides, nor a key that it created, unless "self" is true', async () => {
    const create = async (key: string, role: string) => {
      const { body } = await send('POST', '/api/keys', { key, body: { name: role, role } })
      return body.key as string
    }
    const child = await create(keys.admin, 'admin')
    const grandchild = await create(child, 'operator')
    const asked = params()
    const id = await idOf('pay', asked, { key: keys.admin })
    for (const key of [keys.admin, child, grandchild]) {
      const { status, body } = await approve(id, {}, key)
      expect([status, body.error]).toEqual([403, expect.stringContaining('may not decide')])
    }
    // Also if the key in between was revoked.
    await send('DELETE', `/api/keys/${server.installation.callers.find(child)?.id}`, { key: keys.admin }).catch(
      () => {},
    )
    expect((await approve(id, {}, grandchild)).status).toBe(403)
    expect((await approve(id)).status).toBe(200)

    const own = await idOf('pay_self', asked, { key: keys.admin })
    expect((await approve(own, {}, keys.admin)).status).toBe(200)
  })

  test('an expired approval cannot be decided, and the call asks again', async () => {
    const asked = params()
    const [id, approved] = [await idOf('pay_soon', asked), await idOf('pay', asked)]
    await approve(approved)
    try {
      later += 60_001
      expect((await approve(id)).body.error).toContain('has expired')
      const again = (await call('pay_soon', asked, { approval_id: id })).body
      expect([again.error_code, again.details.approval.id]).toEqual([
        'APPROVAL_REQUIRED',
        expect.not.stringMatching(id),
      ])
      const expired = (await send('GET', '/api/approvals?status=expired', { key: keys.operator })).body.approvals
      expect(expired.map((one: { id: string }) => one.id)).toContain(id)
      // An approved call can run for a day.
      later += DAY_MS
      expect((await call('pay', asked, { approval_id: approved })).body.error_code).toBe('APPROVAL_REQUIRED')
      expect(run).not.toHaveBeenCalled()
    } finally {
      later = 0
    }
  })

  test('lists one status, in pages', async () => {
    const [asker, key] = [await addKey('paged', 'user', { name: 'asker' }), await addKey('paged', 'operator')]
    const page = async (query: string) => (await send('GET', `/api/approvals?${query}`, { key })).body
    const [one, two, three] = [
      await idOf('pay', params(), { key: asker }),
      await idOf('pay', params(), { key: asker }),
      await idOf('pay', params(), { key: asker }),
    ]
    await decide(three, { decision: 'reject' }, key)
    const { approvals, next, pending } = await page('status=pending&limit=1')
    expect(approvals).toMatchObject([{ id: two, tool: 'pay', caller_name: 'asker', status: 'pending', refused: null }])
    expect(pending).toBe(2)
    const { approvals: last, ...rest } = await page(`status=pending&limit=1&cursor=${next}`)
    expect([last[0].id, rest]).toEqual([one, { pending: 2 }])
    expect((await page('status=rejected')).approvals).toMatchObject([{ id: three, status: 'rejected' }])
  })

  test('refuses to approve a call that could not run any more', async () => {
    const key = await addKey('acme', 'user')
    const id = await idOf('pay', params(), { key })
    await server.installation.storage.keys.revoke(ids[key] as string, new Date().toISOString())
    await server.installation.callers.load(server.installation.storage.keys)
    const refused = async (one: string, why: string) => {
      const { status, body } = await approve(one)
      expect([status, body.error]).toEqual([409, expect.stringContaining(why)])
    }
    await refused(id, 'revoked')
    define('pay_odd', {})
    const odd = await idOf('pay_odd', params())
    define('pay_odd', { permissions: ['payments'] })
    await refused(odd, 'no permission')
    define('pay_odd', { parameters: { ...AMOUNT, required: ['account'] } })
    await refused(odd, "Tool 'pay_odd', or a tool that it calls, has changed since the approval was asked for")
    server.installation.manager.getRegistry().unregister('pay_odd')
    await refused(odd, "doesn't exist here")
    expect((await decide(odd, { decision: 'reject' })).status).toBe(200)
  })
})

type Elicitation = NonNullable<ClientCapabilities['elicitation']>

describe.each(['legacy', 'auto'] as const)('over MCP, a client that speaks the %s protocol', (mode) => {
  async function connect(key: string, elicitation?: Elicitation, opened: (id: string) => unknown = () => {}) {
    const client = new Client(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode }, capabilities: { ...(elicitation && { elicitation }) } },
    )
    const requestInit = { headers: { 'x-api-key': key } }
    const asked: unknown[] = []
    let action: 'accept' | 'decline' = 'accept'
    if (elicitation !== undefined) {
      client.setRequestHandler('elicitation/create', async ({ params: question }) => {
        asked.push(question)
        if (question.mode === 'url') await opened(question.url.split('/').at(-1) ?? '')
        return action === 'accept' && question.mode !== 'url' ? { action, content: {} } : { action }
      })
    }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }))
    onTestFinished(() => client.close())
    const callTool = async (name: string, given: Record<string, unknown>, _meta?: object) =>
      client.callTool({ name, arguments: given, ...(_meta && { _meta: { ..._meta } }) })
    return {
      callTool,
      asked,
      decline: () => {
        action = 'decline'
      },
    }
  }

  test('gets the failure, and the repeated call runs once when it is approved', async () => {
    const { callTool } = await connect(keys.asker)
    const given = params()
    const refused = await callTool('pay', given)
    expect(refused).toMatchObject({ isError: true, structuredContent: { error_code: 'APPROVAL_REQUIRED' } })
    const { id } = (refused.structuredContent as { details: { approval: { id: string } } }).details.approval
    await approve(id)
    expect((await callTool('pay', given)).structuredContent).toEqual({ paid: given })
    expect((await callTool('pay', given, { 'toolyard/approval_id': id })).structuredContent).toEqual({ paid: given })
    expect(await callTool('pay', given)).toMatchObject({ structuredContent: { error_code: 'APPROVAL_REQUIRED' } })
    expect(run).toHaveBeenCalledTimes(1)
  })

  test('is sent to the web UI if it can open addresses, and cannot decide itself', async () => {
    const { callTool, asked } = await connect(keys.admin, { form: {}, url: {} })
    const refused = await callTool('pay', params())
    expect(refused).toMatchObject({ structuredContent: { error_code: 'APPROVAL_REQUIRED' } })
    const { id } = (refused.structuredContent as { details: { approval: { id: string } } }).details.approval
    expect(asked).toMatchObject([{ mode: 'url', url: `${server.url}/approvals/${id}` }])
    expect((await send('GET', `/api/approvals/${id}`, { key: keys.operator })).body.status).toBe('pending')
    const decided: Parameters<typeof decide>[1][] = [{ decision: 'approve' }, { decision: 'reject', reason: 'No' }]
    const opening = await connect(keys.asker, { url: {} }, (one) => decide(one, decided.shift() ?? {}))
    expect((await opening.callTool('pay', { amount: -1 })).structuredContent).toEqual({ paid: { amount: -1 } })
    expect(await opening.callTool('pay', { amount: -2 })).toMatchObject({
      structuredContent: { error_code: 'PERMISSION_DENIED', error: expect.stringContaining('rejected: No') },
    })
    const form = await connect(keys.admin, { form: {} })
    expect(await form.callTool('pay', params())).toMatchObject({ isError: true })
    expect(form.asked).toEqual([])
  })

  test('decides in a form only with "self" and the scope approve', async () => {
    const { callTool, asked, decline } = await connect(keys.admin, { form: {} })
    const given = params()
    expect((await callTool('pay_self', given)).structuredContent).toEqual({ paid: given })
    expect(asked).toMatchObject([{ message: `Run the tool 'pay_self' with ${JSON.stringify(given)}?` }])
    decline()
    expect(await callTool('pay_self', params())).toMatchObject({
      structuredContent: { error_code: 'PERMISSION_DENIED' },
    })
    const user = await connect(keys.asker, { form: {} })
    expect(await user.callTool('pay_self', params())).toMatchObject({ isError: true })
    expect(user.asked).toEqual([])
    expect(run).toHaveBeenCalledTimes(1)
  })
})

test('without keys, only a browser of the page decides', async () => {
  const { config, handlers } = toolConfig({ pay: pay({}) })
  const local = await openTestServer(config, { handlers, local: true })
  try {
    const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
      const response = await fetch(local.url + path, { ...init, body: JSON.stringify(body) })
      return { status: response.status, body: JSON.parse(await response.text()) }
    }
    const asked = { tool_name: 'pay', params: { amount: 1 } }
    const { id } = (await post('/tools/execute', asked)).body.details.approval
    const refused = await post(`/api/approvals/${id}`, { decision: 'approve' })
    expect([refused.status, refused.body.error]).toEqual([403, expect.stringContaining('in the web UI or with')])
    const foreign = { origin: 'https://example.com' }
    expect((await post(`/api/approvals/${id}`, { decision: 'approve' }, foreign)).status).toBe(403)
    expect((await post(`/api/approvals/${id}`, { decision: 'approve' }, { origin: local.url })).status).toBe(200)
    expect((await post('/tools/execute', { ...asked, approval_id: id })).body.success).toBe(true)
  } finally {
    await local.close()
  }
})
