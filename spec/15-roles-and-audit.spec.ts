import { describe, expect, onTestFinished, test } from 'vitest'
import { complianceReport } from '../src/app/service-levels/compliance-report.ts'
import { checkConfig } from '../src/config/check-config.ts'
import type { KeyStore } from '../src/core/storage/key-store.ts'
import type { SpendingStore } from '../src/core/storage/spending-store.ts'
import { POST_HEADERS, statelessMessage } from '../src/mcp/server/fixtures/http-yard.ts'
import { openIssuer } from '../src/server/fixtures/open-issuer.ts'
import { openToolServer } from '../src/server/fixtures/open-tool-server.ts'
import { call } from '../src/storage/fixtures/call-entry.ts'
import { openLedger, run } from '../src/storage/ledger/fixtures/open-ledger.ts'
import { withServer } from './fixtures/server.ts'
import { mock } from './fixtures/tool-manager.ts'

const DAY = 86_400_000
const noSpending: SpendingStore = {
  hold: async () => [],
  report: async () => ({ total: { spent: 0, calls: 0, unknown: 0 }, names: [], days: [] }),
}
const noKeys: KeyStore = {
  ...{ list: async () => [], create: async () => true, change: async () => false, revoke: async () => false },
  ...{
    restore: async () => false,
    rotate: async () => false,
    formerSecrets: async () => [],
    users: async () => [],
    putUser: async () => {},
    revokeUser: async () => {},
  },
}
const paid = (per_call: number) => ({ run: () => 'done', cost: { per_call } })
// biome-ignore lint/suspicious/noExplicitAny: the answers of a server are read as they come.
const json = async (response: Response | Promise<Response>): Promise<any> => (await response).json()

describe('Roles, keys and audit rows', () => {
  test('[15.2-6] Audit rows gain cost, key and version (chain format with a version)', async () => {
    const { call, records, key, installation, get } = await openToolServer(
      { paid: { ...paid(0.1), version: '1.2.0' }, plain: () => 1 },
      {},
      { local: false },
    )
    const secret = await key('acme')
    const headers = { authorization: `Bearer ${secret}` }
    await json(call('paid', {}, headers))
    await json(call('plain', {}, headers))
    const rows = await records('acme')
    const [own] = await installation.storage.keys.list()
    expect(rows.map(({ cost, key, version }) => ({ cost, key, version }))).toEqual([
      { cost: 0.1, key: own?.id, version: '1.2.0' },
      { cost: null, key: own?.id, version: null },
    ])
    const csv = await (await get('/audit?format=csv&type=call', headers)).text()
    expect(csv).toContain(`1.2.0,0.1,${own?.id},`)
    expect(csv).not.toContain(secret)
    expect(await installation.storage.ledger.verify()).toMatchObject({ faults: [] })
  })

  test('[15.2-7] storage.audit_days may exceed keep_days', async () => {
    expect(() => checkConfig({ storage: { keep_days: 7, audit_days: 3 } }, 'config')).toThrow(
      'storage.audit_days is 3, less than keep_days (7): raise it, or lower keep_days.',
    )
    const { ledger, clock, stored } = openLedger({ keepDays: 7, auditDays: 365 })
    await ledger.append([call({ at: clock.wall() })], [run()])
    clock.advance(364 * DAY)
    await ledger.append([], [])
    await ledger.expire(clock.wall())
    expect([stored.rows.length, stored.runs.size]).toEqual([1, 0])
    await ledger.expire(clock.wall() + 2 * DAY)
    expect(stored.rows).toEqual([])
  })

  test('[15.2-8] A report says from when rows exist', async () => {
    const { ledger, clock } = openLedger({ keepDays: 30 })
    const start = clock.wall()
    await ledger.append([call({ at: start })], [])
    clock.advance(8 * DAY)
    await ledger.append([call({ at: clock.wall() })], [])
    const noticeFrom = async (from: number) => {
      const parts = {
        storage: { ledger, keys: noKeys, spending: noSpending },
        objectives: { report: async () => [] },
        clock,
      }
      return (await complianceReport({ tenant: undefined, from, to: clock.wall() + 1 }, parts)).notice
    }
    expect(await noticeFrom(start)).toBe(null)
    expect(await noticeFrom(start - DAY)).toBe(
      'The oldest row is from 2026-01-01T00:00:00.000Z: nothing was recorded before',
    )
    await ledger.expire(clock.wall() + 25 * DAY)
    const removed = 'The oldest row is from 2026-01-01T00:00:00.000Z: older ones were removed after storage.audit_days'
    expect(await noticeFrom(start)).toBe(removed)
    expect(await noticeFrom(clock.wall())).toBe(null)
  })

  test('[15.2-11] roles {<name>: {scopes, tools?: [patterns], models?: [patterns]}} adds roles to the three built in. Keys, OIDC roles and approval.by name them', async () => {
    const issuer = await openIssuer()
    onTestFinished(() => issuer.close())
    const roles = { reviewer: { scopes: ['read', 'approve'] }, owner: { scopes: ['read'], tools: ['get_*'] } } as const
    const auth = { oidc: { ...issuer.settings, roles: { reviewers: 'reviewer', owners: 'owner' } } }
    const guarded = { ...mock('pay'), approval: { by: ['reviewer'] } }
    const { ask, post, execute, key } = await withServer([guarded, mock('get_weather')], { roles, auth })
    const { id } = (await execute('pay')).body.details.approval
    const decide = (used: string) => post(`/api/approvals/${id}`, { decision: 'approve' }, { key: used })
    expect((await decide(await key('acme', 'operator'))).body.error).toContain('decided by the role reviewer')
    expect((await decide(await key('acme', 'owner'))).status).toBe(403)
    expect((await decide(issuer.token({ sub: 'bob', roles: 'reviewers' }))).status).toBe(200)
    expect((await ask('/api/session', { key: issuer.token({ roles: 'owners' }) })).body).toMatchObject({
      role: 'owner',
    })
    const made = await post('/api/keys', { name: 'x', role: 'owner' })
    expect([made.status, made.body.role]).toEqual([201, 'owner'])
    await expect(withServer([{ ...mock('pay'), approval: { by: ['revewer'] } }], { roles })).rejects.toThrow(
      'Unknown role "revewer". Did you mean "reviewer"?',
    )
  })

  test('[15.2-12] Lists, calls, search, MCP and the page respect roles', async () => {
    const roles = { reader: { scopes: ['read', 'call'], tools: ['get_*'] } } as const
    const { ask, execute, post, key } = await withServer([mock('get_weather'), mock('set_weather')], { roles })
    const used = { key: await key('acme', 'reader') }
    for (const path of ['/schema/tools', '/api/tools/list', '/api/page/tools']) {
      const { tools } = (await ask(path, used)).body as { tools: { name: string }[] }
      expect([path, tools.map(({ name }) => name)]).toEqual([path, ['get_weather']])
    }
    const statuses = [await execute('get_weather', {}, used), await execute('set_weather', {}, used)]
    expect(statuses.map(({ status }) => status)).toEqual([200, 403])
    expect((await execute('set_wether', {}, used)).body.suggestions ?? []).not.toContain('set_weather')
    const { message, headers } = statelessMessage('tools/list')
    const { text } = await post('/mcp', message, { ...used, headers: { ...POST_HEADERS, ...headers } })
    expect([text.includes('get_weather'), text.includes('set_weather')]).toEqual([true, false])
    expect((await ask('/audit', used)).status).toBe(403)
  })

  test('[15.2-13] Keys may carry tools: [patterns], models: [patterns], calls_per_minute, budget and expires_at', async () => {
    const { call, post, get } = await openToolServer({ paid: paid(0.1), other: paid(0.1) })
    const admin = { authorization: `Bearer ${(await json(post('/api/keys', { name: 'root', role: 'admin' }))).key}` }
    const expires_at = '2099-01-01T00:00:00.000Z'
    const limits = {
      tools: ['pa*'],
      models: ['mini:*'],
      calls_per_minute: 3,
      budget: { per: 'day', amount: 0.1 },
      expires_at,
    }
    const { key, id } = await json(post('/api/keys', { name: 'ci', ...limits }, admin))
    const listed = (await json(get('/api/keys', admin))).keys.find((one: { id: string }) => one.id === id)
    expect(listed).toMatchObject(limits)
    const own = { authorization: `Bearer ${key}` }
    const codes = []
    for (const name of ['paid', 'other', 'paid']) codes.push((await json(call(name, {}, own))).error_code)
    expect(codes).toEqual([undefined, 'PERMISSION_DENIED', 'RATE_LIMITED'])
    expect((await json(call('paid', {}, own))).error).toContain(
      "The budget of key 'ci', 0.1 USD a day, is spent: 0.1 USD so far",
    )
    expect((await call('paid', {}, own)).headers.get('retry-after')).not.toBeNull()
    const wrong = await post('/api/keys', { name: 'x', budget: { per: 'year', amount: 1 } }, admin)
    expect(wrong.status).toBe(400)
    const limited = await json(
      post('/api/keys', { name: 'lead', role: 'admin', budget: { per: 'month', amount: 5 } }, admin),
    )
    const more = await post('/api/keys', { name: 'more' }, { authorization: `Bearer ${limited.key}` })
    expect([more.status, (await json(more)).title]).toEqual([403, 'A key with a budget cannot create or change keys'])

    // A budget of the configuration for keys counts as well, for the keys that match.
    const budgets = [{ scope: 'key', match: 'acme *', per: 'day', amount: 1 }] as const
    const configured = await openToolServer({ paid: paid(1) }, { budgets }, { local: false })
    const create = async (tenant: string) =>
      configured.post('/api/keys', { name: 'x' }, { authorization: `Bearer ${await configured.key(tenant)}` })
    const [under, free] = [await create('acme'), await create('globex')]
    expect([under.status, free.status]).toEqual([403, 201])
    expect((await json(under)).detail).toBe(
      'it may spend 1 a day, and its keys could spend more. Use "toolyard keys create"',
    )
  })
})
