import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../config/config.ts'
import type { LimitsView } from '../../operations/limits.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'

const SEES_ALL = ['read', 'call', 'observe', 'installation'] as const

async function openYard(config: Config = {}, options: { local?: boolean; clock?: ManualClock } = { local: false }) {
  const server = await openToolServer(
    {
      free: async () => 1,
      rationed: { run: async () => 1, rate_limit: { calls: 3, per_ms: 60_000 }, max_concurrency: 2 },
      hidden: { run: async () => 1, rate_limit: { calls: 3, per_ms: 60_000 }, permissions: ['nobody_has_it'] },
    },
    config,
    options,
  )
  const view = async (key?: string) =>
    (await (await server.get('/api/limits', key === undefined ? {} : { 'x-api-key': key })).json()) as LimitsView
  return { ...server, view }
}

describe('the limits', () => {
  test('of callers show the remaining calls without using any', async () => {
    const { key, call, view } = await openYard({ limits: { calls_per_minute: 10 } })
    const own = await key('acme', 'admin', undefined, 5)
    const common = await key('acme', 'operator')
    const other = await key('globex', 'operator')
    for (let n = 0; n < 2; n++) await call('free', {}, { 'x-api-key': own })
    for (let n = 0; n < 3; n++) await view(common)
    const { callers } = await view(common)
    // Keys of one millisecond have no order.
    expect(callers.toSorted((one, other) => one.name.localeCompare(other.name))).toEqual([
      {
        id: expect.any(String),
        name: 'acme admin',
        tenant: 'acme',
        calls: 5,
        per_ms: 60_000,
        remaining: 3,
        set_by: 'key',
      },
      expect.objectContaining({ name: 'acme operator', calls: 10, remaining: 10, set_by: 'configuration' }),
    ])
    expect((await view(other)).callers.map(({ tenant }) => tenant)).toEqual(['globex'])
    const all = await view(await key('acme', 'admin', SEES_ALL))
    expect(new Set(all.callers.map(({ tenant }) => tenant))).toEqual(new Set(['acme', 'globex']))
  })

  test('that are used up show when to retry, and recover after their window', async () => {
    const clock = new ManualClock()
    const { call, view } = await openYard({ limits: { calls_per_minute: 1 } }, { local: true, clock })
    expect((await view()).callers).toMatchObject([{ id: 'local', remaining: 1 }])
    await call('free')
    clock.advance(20_000)
    expect((await view()).callers).toMatchObject([{ remaining: 0, retry_in_ms: 40_000 }])
    clock.advance(40_000)
    const [whole] = (await view()).callers
    expect(whole).toMatchObject({ remaining: 1 })
    expect(whole).not.toHaveProperty('retry_in_ms')
  })

  test('of tools are those of your tenant, also before the first call', async () => {
    const { key, call, view } = await openYard()
    const [acme, globex] = [await key('acme', 'operator'), await key('globex', 'operator')]
    const untouched = [{ tool: 'rationed', rate_limit: { calls: 3, per_ms: 60_000, remaining: 3 } }]
    expect((await view(acme)).tools).toEqual(untouched)
    await call('rationed', {}, { 'x-api-key': acme })
    expect((await view(acme)).tools).toMatchObject([{ rate_limit: { remaining: 2 } }])
    expect((await view(globex)).tools).toEqual(untouched)
    const all = await view(await key('acme', 'admin', SEES_ALL))
    expect(all.tools).toMatchObject([
      { tool: 'rationed', rate_limit: { remaining: 2 }, concurrency: { most: 2, running: 0 } },
      { tool: 'hidden' },
    ])
  })

  test('of the configuration have their paths, and budgets theirs', async () => {
    const budget = { tokens: 5_000, wall_time_ms: 30_000 }
    const { view } = await openYard(
      { limits: { calls_per_session: 7 }, responses: [{ llm: 'mini', model: 'v1', prompt: 'x', budget }] },
      { local: true },
    )
    const { configured, budgets } = await view()
    expect(configured).toContainEqual({
      path: 'limits.calls_per_session',
      value: 7,
      description: 'Tool calls. Default: 1000.',
    })
    expect(configured.find(({ path }) => path === 'limits.calls_per_minute')?.value).toBeNull()
    expect(configured.map(({ path }) => path)).toContain('tools.default_timeout_ms')
    expect(budgets).toEqual([{ path: 'responses[0].budget', model: 'mini:v1', ...budget }])
  })
})

test('shows the breakers of the own tenant: open since when, and when they try again', async () => {
  const service = createServer((_request, response) => response.writeHead(503).end())
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void service.close())
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/secret-path`
  const http = { type: 'http', url, circuit_breaker: { failures: 2, open_ms: 60_000 }, retry: { max_attempts: 1 } }
  const registry = [
    { name: 'flaky', description: 'x', parameters: { type: 'object' }, implementation: http },
    {
      name: 'private',
      description: 'x',
      parameters: { type: 'object' },
      implementation: http,
      permissions: ['theirs'],
    },
  ]
  const { key, call, view, get } = await openYard({
    tools: { enabled: true, registry },
    http: { allow_private: ['127.0.0.1'] } as never,
    tenants: { globex: { flags: { theirs: true } } },
  })
  const [acme, globex] = [await key('acme', 'operator'), await key('globex', 'operator')]
  expect((await view(acme)).circuits).toEqual([])
  for (let n = 0; n < 2; n++) await call('flaky', {}, { 'x-api-key': acme })
  await call('private', {}, { 'x-api-key': globex })
  const { circuits } = await view(acme)
  expect(circuits).toEqual([
    { tool: 'flaky', state: 'open', failures: 2, retry_in_ms: expect.any(Number), since: expect.any(String) },
  ])
  expect((await view(globex)).circuits.map(({ tool, state }) => [tool, state])).toEqual([
    ['flaky', 'closed'],
    ['private', 'closed'],
  ])
  expect(await (await get('/api/limits', { 'x-api-key': acme })).text()).not.toContain('secret-path')
})
