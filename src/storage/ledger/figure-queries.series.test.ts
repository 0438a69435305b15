import { describe, expect, test } from 'vitest'
import type { MetricWindow } from '../../core/storage/ledger.ts'
import { call, openLedger, run } from './fixtures/open-ledger.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const WINDOWS: readonly MetricWindow[] = ['1h', '24h', '7d']
const iso = (time: number) => new Date(time).toISOString()

/** Calls of two tools, of two servers and two tenants, over more than a week. */
async function weekOfCalls() {
  const first = openLedger({ instance: 'server-1' })
  const { stored, clock } = first
  const second = openLedger({ instance: 'server-2', stored, clock })
  clock.advance(10.5 * MINUTE)
  const now = clock.wall()
  const calls = Array.from({ length: 200 }, (_, index) =>
    call({
      at: now - index * 59.5 * MINUTE,
      tool: index % 3 === 0 ? 'weather' : 'stocks',
      tenant: index % 4 === 0 ? 'other' : 'acme',
      code: index % 5 === 0 ? 'TIMEOUT' : null,
      durationMs: 1 + index,
    }),
  )
  await first.ledger.append(calls.slice(0, 100), [])
  await second.ledger.append(calls.slice(100), [])
  await second.ledger.close()
  return { ...first, now, calls }
}

describe('calls over time', () => {
  test.each(WINDOWS)('of %s add up to the figures of the window', async (window) => {
    const { ledger } = await weekOfCalls()
    for (const tenant of ['acme', 'other', 'nobody', undefined]) {
      const whole = await ledger.executions({ tenant, window })
      for (const tool of [undefined, 'weather', 'none']) {
        const figures = tool === undefined ? whole : whole.tools[tool]
        const { buckets, ...rest } = await ledger.callSeries({ tenant, window, ...(tool !== undefined && { tool }) })
        expect(rest).toMatchObject({ window, tool: tool ?? null })
        expect(buckets.reduce((sum, { total }) => sum + total, 0)).toBe(figures?.total ?? 0)
        expect(buckets.reduce((sum, { errors }) => sum + (errors.TIMEOUT ?? 0), 0)).toBe(figures?.errors.TIMEOUT ?? 0)
        const slowest = Math.max(...buckets.map(({ p99_ms }) => p99_ms))
        expect(slowest).toBeGreaterThanOrEqual(figures?.p99_ms ?? 0)
      }
    }
  })

  test('stand in the stretch in which they began, and gaps are zeros', async () => {
    const { ledger, clock } = openLedger()
    clock.advance(10.5 * MINUTE)
    const now = clock.wall()
    const slow = { at: now - 30 * MINUTE, code: 'TIMEOUT', durationMs: 800 } as const
    await ledger.append([call({ at: now, durationMs: 10 }), call(slow), call({ ...slow, code: null })], [])
    const { buckets, bucket_ms } = await ledger.callSeries({ tenant: 'acme', window: '1h' })
    expect([bucket_ms, buckets.length]).toEqual([MINUTE, 61])
    expect(buckets.filter(({ total }) => total > 0).map(({ start, total, errors }) => [start, total, errors])).toEqual([
      [iso(now - 30.5 * MINUTE), 2, { TIMEOUT: 1 }],
      [iso(now - 0.5 * MINUTE), 1, {}],
    ])
    expect(buckets[30]).toMatchObject({ success_rate: 0.5, avg_ms: 800, p50_ms: expect.closeTo(800, -1.7) })
    const none = { total: 0, success_rate: 0, avg_ms: 0, p50_ms: 0, p95_ms: 0, p99_ms: 0, errors: {} }
    expect(buckets[0]).toEqual({ start: iso(now - 60.5 * MINUTE), ...none })
  })

  test('that a server counted whose clock runs ahead are in the last stretch', async () => {
    const { ledger, stored, clock } = openLedger()
    const ahead = openLedger({ instance: 'ahead', stored })
    ahead.clock.advance(2 * HOUR)
    await ahead.ledger.append([call({ at: ahead.clock.wall() })], [])
    await ahead.ledger.close()
    expect(clock.wall()).toBeLessThan(ahead.clock.wall())
    for (const window of WINDOWS) {
      const { buckets } = await ledger.callSeries({ tenant: 'acme', window })
      expect([window, buckets.at(-1)?.total]).toEqual([window, 1])
    }
  })

  test('are read half a day of cells at a time, and others have their turn in between', async () => {
    const { ledger, tables } = openLedger()
    let turns = 0
    const count = () => {
      turns++
      if (tables.calls.cells !== 15) setImmediate(count)
    }
    setImmediate(count)
    await ledger.callSeries({ tenant: 'acme', window: '7d' })
    expect(tables.calls.cells).toBe(15)
    expect(turns).toBeGreaterThanOrEqual(14)
  })
})

test('runs over time tell depth and cost, by model or of all', async () => {
  const { ledger, clock } = openLedger()
  clock.advance(10 * HOUR)
  const now = clock.wall()
  const started_at = iso(now - 3 * HOUR)
  await ledger.append(
    [],
    [
      run({ id: '1', started_at, iterations: 3, cost: 0.25 }),
      run({ id: '2', started_at, iterations: 5, cost: 0.5, stop_reason: 'max_iterations' }),
      run({ id: '3', started_at: iso(now), model: 'ollama:llama', iterations: 1, cost: null }),
      run({ id: '4', started_at: iso(now), tenant: 'other', cost: 7 }),
    ],
  )
  const filled = async (model?: string) => {
    const { buckets } = await ledger.runSeries({ tenant: 'acme', window: '24h', ...(model !== undefined && { model }) })
    expect(buckets).toHaveLength(25)
    return buckets
      .filter(({ runs }) => runs > 0)
      .map(({ runs, avg_iterations, max_iterations, cost }) => [runs, avg_iterations, max_iterations, cost])
  }
  expect(await filled()).toEqual([
    [2, 4, 5, 0.75],
    [1, 1, 1, null],
  ])
  expect(await filled('ollama:llama')).toEqual([[1, 1, 1, null]])
  expect(await filled('none')).toEqual([])
  const { buckets } = await ledger.runSeries({ tenant: 'acme', window: '24h' })
  expect(buckets.at(-4)).toMatchObject({ start: started_at, limit_hits: { max_iterations: 1 } })
  expect(buckets[0]).toMatchObject({ runs: 0, avg_iterations: 0, cost: null })
  expect(buckets[0]).not.toHaveProperty('tools')
})
