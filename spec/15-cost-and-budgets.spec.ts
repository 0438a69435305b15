import { describe, expect, onTestFinished, test } from 'vitest'
import { POST_HEADERS, statelessMessage } from '../src/mcp/server/fixtures/http-yard.ts'
import { openIssuer } from '../src/server/fixtures/open-issuer.ts'
import { withServer } from './fixtures/server.ts'
import { mock } from './fixtures/tool-manager.ts'

describe('Cost and budgets', () => {
  test.todo(
    '[15.2-1] cost {per_call?, from_result? (JSONPath)} on a definition gives the cost of a call, all in one costs.currency (USD). Models have prices',
  )
  test.todo(
    '[15.2-2] GET /api/costs?by=tool|model|tenant|key|run&period= reports costs, and so do the page and /metrics',
  )
  test.todo(
    '[15.2-3] budgets [{scope: "tenant" | "key" | "tool" | "model", match?, per: "day" | "month", amount, action: "warn" | "refuse"}]: refused calls and runs are RATE_LIMITED with the budget named',
  )
  test.todo('[15.2-4] Budgets are exact across servers to within one call per server')
  test.todo('[15.2-5] Budget counters are rows of their own, stored for 13 months')
  test.todo('[15.2-6] Audit rows gain cost, key and version (chain format with a version)')
  test.todo('[15.2-7] storage.audit_days may exceed keep_days')
  test.todo('[15.2-8] A report says from when rows exist')
  test.todo('[15.2-9] period of a cost report is day, week, month, or from/to')
  test.todo('[15.2-10] A refused budget has Retry-After')
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
  test.todo('[15.2-13] Keys may carry tools: [patterns], models: [patterns], calls_per_minute, budget and expires_at')
})
