import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { simulatedServers } from '../src/app/service-levels/fixtures/simulated-servers.ts'
import { installationFolder } from '../src/cli/fixtures/installation-folder.ts'
import { mock } from '../src/cli/fixtures/toolyard.ts'
import { tool, withServer } from './fixtures/server.ts'

/** A receiver of webhooks, and what it got. It redirects the first requests. */
async function receiver(...redirects: string[]) {
  const received: { headers: IncomingHttpHeaders; body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    received.push({ headers: request.headers, body })
    const location = redirects.shift()
    response.writeHead(location === undefined ? 204 : 307, location === undefined ? {} : { location }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

describe('Service levels and compliance', () => {
  test('[15.3-1] objectives [{tool?, success?, p95_ms?, window}] have multi-window burn-rate alerts (fast 5 m/1 h, slow 6 h/3 d) to log, metrics and a signed webhook', async () => {
    const elsewhere = await receiver()
    const { received, url } = await receiver(elsewhere.url)
    const secret = 'shared secret'
    const config = {
      tools: { enabled: true, registry: [tool('flaky')] },
      objectives: [{ tool: 'fl*', success: 0.99, window: '7d' }, { p95_ms: 60_000 }],
      alerts: { webhook: { url, secret } },
    }
    const fail = () => {
      throw new Error('broken')
    }
    const server = await withServer([], config, { handlers: { flaky: fail } })
    const admin = await server.key('acme', 'admin', ['observe', 'installation', 'call'])
    for (let call = 0; call < 25; call++) await server.execute('flaky', {}, { key: admin })
    const asked = async () => (await server.ask('/api/objectives?tenant=*', { key: admin })).body
    const id = 'fl* success 0.99 7d'
    const before = await asked()
    expect(before.alerts).toEqual([])
    expect(before.objectives).toMatchObject([
      { id, calls: 25, bad: 25, burn_rates: { '5m': expect.closeTo(100), '3d': expect.closeTo(100) } },
      { id: '* p95_ms 60000 30d', calls: 25, bad: 0, error_budget_left: 1 },
    ])

    await server.installation.objectives.evaluate()
    expect((await asked()).alerts).toMatchObject([{ objective: id, severity: 'fast', resolved_at: null }])
    // Redirects are refused, and the message is sent again with the same id, after which nothing is sent.
    await vi.waitUntil(() => received.length > 1, { timeout: 60_000 })
    await server.installation.objectives.evaluate()
    const [refused, { headers, body }] = received as [(typeof received)[0], (typeof received)[0]]
    expect([refused.headers['webhook-id'], refused.body]).toEqual([headers['webhook-id'], body])
    expect([received.length, elsewhere.received.length]).toEqual([2, 0])
    for (const hidden of [secret, url]) expect(JSON.stringify(server.log.lines)).not.toContain(hidden)
    expect(JSON.parse(body)).toMatchObject({
      type: 'alerts',
      alerts: [{ status: 'open', severity: 'fast', objective: id, message: expect.stringContaining('100.0 times') }],
    })
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', secret).update(signed).digest('base64')}`)
    expect(server.log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('Alert (fast burn)') }),
    )
    const { text } = await server.ask('/metrics?tenant=*', { key: admin })
    expect(text).toContain(`toolyard_objective_burn_rate{objective="${id}",window="1h"} 100`)
    expect(text).toContain(`toolyard_objective_alert_open{objective="${id}",severity="fast"} 1`)
    expect(text).toMatch(/toolyard_objective_error_budget_left\{objective="fl\* success 0\.99 7d"\} -99/)
    // A tenant sees what its own calls did, and no alerts.
    const other = await server.ask('/api/objectives', { key: await server.key('other') })
    expect(other.body.objectives).toMatchObject([{ calls: 0, error_budget_left: 1 }, { calls: 0 }])
    expect(other.body).not.toHaveProperty('alerts')
    const events = await server.ask('/audit?type=event&tenant=*', { key: admin })
    expect(events.body.rows).toContainEqual(expect.objectContaining({ event: 'alert.opened', subject: id }))
    // Reports read all rows: few may wait.
    const { ledger } = server.installation.storage
    const summary = await ledger.summary({ tenant: undefined, from: 0, to: 1 })
    const { promise, resolve } = Promise.withResolvers<typeof summary>()
    Object.assign(ledger, { summary: () => promise })
    const report = () => server.ask('/api/report', { key: admin })
    const reports = Array.from({ length: 5 }, report)
    expect(await Promise.race(reports)).toMatchObject({ status: 503, body: { title: 'Too many reports at once' } })
    resolve(summary)
    expect((await Promise.all(reports)).map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 503])
    expect((await report()).status).toBe(200)
  })

  test('[15.3-2] There is no alert storm. Resolved alerts say so', async () => {
    const { pass, told, changes, start, servers } = await simulatedServers([{ tool: 'add', success: 0.99 }])
    servers.push(await start())
    await pass(30, 20, 1)
    expect(changes()).toEqual(['open fast add success 0.99 30d'])
    await pass(21, 20, 0)
    expect(told).toHaveLength(2)
    expect(told[1]?.alerts[0]).toMatchObject({
      status: 'resolved',
      opened_at: told[0]?.at,
      resolved_at: told[1]?.at,
      message: "Alert resolved: 'add success 0.99 30d' uses its error budget as planned again",
    })
  })

  test('[15.3-3] toolyard report --from --to [--format html|json|csv] reports who used what when, denied calls, approvals, key and flag changes, cost, objectives and the integrity of the audit chain', async () => {
    const { toolyard, serve } = await installationFolder({
      tools: { enabled: true, registry: [mock('weather', 'rain'), { ...mock('pay', 1), approval: true }] },
      objectives: [{ tool: 'weather', success: 0.9 }],
      storage: { audit_days: 400 },
    })
    await toolyard('keys', 'create', '--tenant', 'acme', '--name', '=<b>ci</b>', '--role', 'user')
    await toolyard('tenants', 'set', 'acme', 'weather=true')
    await toolyard('tenants', 'set', 'other', 'weather=false')
    const server = await serve()
    const [key] = (await server.storage.keys.list()).map(({ id }) => id)
    const executor = server.manager.getExecutor()
    const context = (tenant: string) => ({ tenant, caller: key as string, source: 'rest' as const })
    await executor.execute('weather', {}, context('acme'))
    await executor.execute('weather', {}, { ...context('other'), flags: server.tenants.flags('other') })
    await executor.execute('pay', {}, context('acme'))
    await server.close()

    const period = ['--from', '2020-01-01', '--to', '2999-01-01']
    const { code, out, err } = await toolyard('report', ...period, '--format', 'json')
    expect([code, err]).toEqual([0, expect.stringContaining('The audit log is intact')])
    const report = JSON.parse(out)
    expect(report.usage).toMatchObject([
      { tenant: 'acme', caller: key, tool: 'pay', calls: 1, denied: 1 },
      { tenant: 'acme', caller: key, tool: 'weather', calls: 1, failed: 0, first: expect.any(String) },
      { tenant: 'other', tool: 'weather', calls: 1, denied: 1 },
    ])
    expect(report.denied.map((row: { error_code: string }) => row.error_code)).toEqual([
      'APPROVAL_REQUIRED',
      'PERMISSION_DENIED',
    ])
    const names = (list: readonly { event: string }[]) => list.map(({ event }) => event)
    expect(names(report.approvals)).toEqual(['approval.asked'])
    expect(names(report.changes)).toEqual(expect.arrayContaining(['key.created', 'flag.set']))
    expect(report.objectives).toMatchObject([{ id: 'weather success 0.9 30d', calls: 1, bad: 0 }])
    expect(report).toMatchObject({ totals: { calls: 3, cost: null }, integrity: { faults: [] } })

    const { out: html } = await toolyard('report', ...period)
    expect(html).toContain('=&lt;b&gt;ci&lt;/b&gt;')
    expect(html).not.toMatch(/<b>|<script|src=|href=/)
    const { out: csv } = await toolyard('report', ...period, '--format', 'csv', '--tenant', 'acme')
    expect(csv).toContain(`Who used what,acme,'=<b>ci</b>,${key},weather,1,0,0,0,unknown,`)
    expect(csv).not.toContain('other')
  })
})
