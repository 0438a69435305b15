import { describe, expect, test } from 'vitest'
import { openToolServer } from '../fixtures/open-tool-server.ts'

const ROUTES = [
  '/metrics/tools/execution',
  '/metrics/models',
  '/metrics/tools/series',
  '/metrics/models/series',
  '/metrics/tools/hello/parameters',
  '/metrics',
]

async function metricsYard() {
  const server = await openToolServer({ hello: async () => 1 })
  const acme = { 'x-api-key': await server.key('acme', 'operator') }
  const globex = { 'x-api-key': await server.key('globex', 'operator') }
  const whole = { 'x-api-key': await server.key('hq', 'operator', ['observe', 'installation']) }
  const json = async (path: string, headers: Record<string, string>) =>
    (await (await server.get(path, headers)).json()) as Record<string, unknown>
  return { ...server, acme, globex, whole, json }
}

describe('metrics', () => {
  test('of tools have all calls that were answered, in the form of the specification', async () => {
    const { call, json, acme } = await metricsYard()
    await call('hello', { a: 1 }, acme)
    await call('hello', { a: 1 }, acme)
    await call('hello', [], acme)
    const figures = {
      total: 3,
      success_rate: 2 / 3,
      avg_ms: expect.any(Number),
      p50_ms: expect.any(Number),
      p95_ms: expect.any(Number),
      p99_ms: expect.any(Number),
      errors: { INVALID_PARAMETERS: 1 },
    }
    expect(await json('/metrics/tools/execution', acme)).toEqual({
      window: '24h',
      ...figures,
      success_rate: expect.closeTo(2 / 3),
      tools: { hello: { ...figures, success_rate: expect.closeTo(2 / 3) } },
    })
    for (const window of ['1h', '24h', '7d']) {
      expect(await json(`/metrics/tools/execution?window=${window}`, acme)).toMatchObject({ window, total: 3 })
      expect(await json(`/metrics/models?window=${window}`, acme)).toEqual({ window, models: {} })
    }
    const sets = await json('/metrics/tools/hello/parameters', acme)
    expect(sets).toMatchObject({ window: '24h', tool: 'hello' })
    expect((sets.parameter_sets as { calls: number }[])[0]).toEqual({ params_hash: expect.any(String), calls: 2 })
  })

  test('over time have every stretch of the window, of all tools or of one', async () => {
    const { call, get, json, acme, globex, whole } = await metricsYard()
    await call('hello', { a: 1 }, acme)
    await call('hello', [], acme)
    await call('none', {}, acme)
    await call('hello', {}, globex)
    const series = async (query: string, headers = acme) => {
      const { buckets, ...rest } = await json(`/metrics/tools/series?${query}`, headers)
      const all = buckets as { start: string; total: number; errors: Record<string, number> }[]
      return { ...rest, stretches: all.length, total: all.reduce((sum, { total }) => sum + total, 0) }
    }
    expect(await series('window=1h')).toEqual({ window: '1h', tool: null, bucket_ms: 60_000, stretches: 61, total: 3 })
    expect(await series('')).toMatchObject({ window: '24h', bucket_ms: 3_600_000, stretches: 25, total: 3 })
    expect(await series('window=7d&tool=hello')).toMatchObject({ tool: 'hello', bucket_ms: 21_600_000, total: 2 })
    expect(await series('tool=only_elsewhere', globex)).toMatchObject({ total: 0 })
    expect(await series('tenant=*', whole)).toMatchObject({ total: 4 })
    const runs = await json('/metrics/models/series?window=1h&model=mini:v1', acme)
    expect(runs).toMatchObject({ window: '1h', model: 'mini:v1', bucket_ms: 60_000 })
    expect((runs.buckets as object[])[60]).toMatchObject({ runs: 0, avg_iterations: 0, cost: null })
    for (const query of [
      'tools/series?model=a',
      'models/series?tool=a',
      'tools/series?tool=',
      'tools/series?window=2h',
    ]) {
      expect([query, (await get(`/metrics/${query}`, acme)).status]).toEqual([query, 400])
    }
  })

  test('another window, and a question that there is not, give 400', async () => {
    const { get, acme } = await metricsYard()
    for (const query of ['window=2h', 'window=', 'window=1h&window=7d', 'widow=1h']) {
      expect([query, (await get(`/metrics/tools/execution?${query}`, acme)).status]).toEqual([query, 400])
    }
  })

  test('are those of your tenant; others need the scope installation', async () => {
    const { call, json, get, acme, globex, whole } = await metricsYard()
    await call('hello', {}, acme)
    await call('hello', {}, globex)
    await call('hello', {}, globex)
    expect(await json('/metrics/tools/execution', acme)).toMatchObject({ total: 1 })
    expect(await json('/metrics/tools/execution?tenant=acme', acme)).toMatchObject({ total: 1 })
    for (const route of ROUTES) {
      for (const tenant of ['globex', '*', 'nobody']) {
        const refused = await get(`${route}?tenant=${tenant}`, acme)
        expect([route, tenant, refused.status]).toEqual([route, tenant, 403])
      }
    }
    expect(await json('/metrics/tools/execution', whole)).toMatchObject({ total: 0 })
    expect(await json('/metrics/tools/execution?tenant=globex', whole)).toMatchObject({ total: 2 })
    expect(await json('/metrics/tools/execution?tenant=*', whole)).toMatchObject({ total: 3 })
    expect(await json('/metrics/models?tenant=*', whole)).toHaveProperty('tenants')
  })

  test('for Prometheus are text for a tenant or for the whole server', async () => {
    const { call, get, acme, globex, whole } = await metricsYard()
    await call('hello', {}, acme)
    await call('hello', {}, globex)
    const own = await get('/metrics', acme)
    expect(own.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(await own.text()).toMatch(/^toolyard_tool_calls_total\{tool="hello",outcome="success"\} 1$/m)
    expect(await (await get('/metrics?tenant=*', whole)).text()).toMatch(/^toolyard_tool_calls_total\{.*\} 2$/m)
  })
})
