import { describe, expect, test } from 'vitest'
import { openaiModel, withServer } from './fixtures/server.ts'
import { mock } from './fixtures/tool-manager.ts'

const guarded = { ...mock('pay'), permissions: ['payments', 'money'] }

describe('Tenants and permissions', () => {
  test('[6.2-1] identifies a caller by API key', async () => {
    const { execute, key, installation } = await withServer([mock('get_weather')])
    const used = await key('acme', 'user')
    expect((await execute('get_weather', {}, { key: used })).status).toBe(200)
    expect((await execute('get_weather', {}, { key: `${used}x` })).status).toBe(401)
    const stored = (await installation.storage.keys.list()).find(({ role }) => role === 'user')
    expect(JSON.stringify(stored)).not.toContain(used)
    await installation.storage.keys.revoke(stored?.id ?? '', new Date().toISOString())
    await expect.poll(async () => (await execute('get_weather', {}, { key: used })).status).toBe(401)
  })

  test("[6.2-2] applies the flags of the key's tenant", async () => {
    const tenants = { rich: { flags: { payments: true, money: true } }, poor: { flags: { payments: true } } }
    const { execute, key } = await withServer([guarded], { tenants })
    const status = async (tenant: string) => (await execute('pay', {}, { key: await key(tenant) })).status
    expect([await status('rich'), await status('poor'), await status('unheard_of')]).toEqual([200, 403, 403])
  })

  test('[6.2-3] treats the keyless local caller as admin of tenant local', async () => {
    const tenants = { local: { flags: { payments: true, money: true, get_weather: false } } }
    const { execute, ask, installation } = await withServer(
      [guarded, mock('get_weather')],
      { tenants },
      { local: true },
    )
    expect([(await execute('pay')).status, (await execute('get_weather')).status]).toEqual([200, 403])
    expect((await ask('/api/keys')).status).toBe(200)
    installation.manager.getExecutor().flush()
    await installation.sink.flush()
    const { rows } = (await ask('/audit')).body
    expect(rows.map(({ tenant, tool }: Record<string, string>) => [tenant, tool])).toEqual([
      ['local', 'get_weather'],
      ['local', 'pay'],
    ])
  })

  test('[6.2-4] runs a tool only if each permission is exactly true', async () => {
    const { execute, installation, ask } = await withServer([guarded])
    const set = async (flags: Record<string, unknown>) => {
      await installation.storage.settings.put({ kind: 'tenant', name: 'acme', value: { flags } })
      await installation.tenants.load(installation.storage.settings)
      return (await execute('pay')).status
    }
    expect(await set({})).toBe(403)
    expect((await ask('/api/tools/list')).body.tools).toEqual([])
    expect(await set({ payments: true })).toBe(403)
    expect(await set({ payments: true, money: 'true' })).toBe(400)
    expect(await set({ payments: true, money: true })).toBe(200)
    expect((await ask('/api/tools/list')).body.tools).toHaveLength(1)
  })

  test('[6.2-5] allows a tool without permissions unless its flag is false', async () => {
    const tenants = { off: { flags: { get_weather: false } }, on: { flags: { get_weather: true } } }
    const { execute, key } = await withServer([mock('get_weather')], { tenants })
    const status = async (tenant: string) => (await execute('get_weather', {}, { key: await key(tenant) })).status
    expect([await status('off'), await status('on'), await status('unheard_of')]).toEqual([403, 200, 200])
  })

  test('[6.2-6] hides and refuses everything of other tenants', async () => {
    const model = await openaiModel('It is 4.')
    const { ask, post, key, installation } = await withServer([mock('get_weather')], model.config)
    await post('/api/tools/test', { query: "What's 2+2?", model: 'openai:gpt-4o' })
    await post('/api/tools/validate', { model: 'openai:gpt-4o', success: true })
    const { headers } = await post(
      '/tools/execute',
      { tool_name: 'get_weather', params: {} },
      { headers: { prefer: 'respond-async' } },
    )
    const job = headers.get('location') as string
    installation.manager.getExecutor().flush()
    await installation.sink.flush()
    const run = (await ask('/api/runs')).body.runs[0].id
    const other = await key('other')
    const seen = async (path: string) => (await ask(path, { key: other })).body
    expect(await seen('/audit')).toMatchObject({ rows: [] })
    expect(await seen('/api/runs')).toMatchObject({ runs: [] })
    expect(await seen('/metrics/tools/execution')).toMatchObject({ total: 0, tools: {} })
    expect(await seen('/metrics/models')).toMatchObject({ models: {} })
    expect(JSON.stringify(await seen('/api/models/list'))).not.toContain('"tested":true')
    expect((await seen('/api/keys')).keys).toHaveLength(1)
    for (const path of [`/api/runs/${run}`, job]) {
      expect([(await ask(path)).status, (await ask(path, { key: other })).status]).toEqual([200, 404])
    }
    for (const query of ['tenant=acme', 'tenant=*'])
      expect((await ask(`/audit?${query}`, { key: other })).status).toBe(403)
  })

  test('[6.2-7] allows calls_per_session tool calls per session', async () => {
    const { execute } = await withServer([mock('get_weather')])
    const headers = { 'x-session-id': 'one' }
    const statuses = new Set<number>()
    const call = async () => statuses.add((await execute('get_weather', {}, { headers })).status)
    for (let batch = 0; batch < 20; batch++) await Promise.all(Array.from({ length: 50 }, call))
    expect([...statuses]).toEqual([200])
    expect((await execute('get_weather', {}, { headers })).status).toBe(429)
  })

  test('[6.2-8] limits each session of each caller on its own', async () => {
    const { execute, key } = await withServer([mock('get_weather')], { limits: { calls_per_session: 2 } })
    const call = (session: string, more: object = {}) =>
      execute('get_weather', {}, { headers: { 'x-session-id': session }, ...more })
    for (const _ of [1, 2]) expect((await call('one')).status).toBe(200)
    expect(await call('one')).toMatchObject({ status: 429, body: { error_code: 'RATE_LIMITED' } })
    expect((await call('two')).status).toBe(200)
    expect((await call('one', { key: await key('other') })).status).toBe(200)
  })
})
