import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CallRecord } from '../../core/records/recorder.ts'
import { ToolMetrics } from '../../core/records/tool-metrics.ts'
import type { CallEntry, MetricWindow } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { call, openLedger, run, settle } from './fixtures/open-ledger.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const SPANS = { '1h': [HOUR, MINUTE], '24h': [DAY, HOUR], '7d': [7 * DAY, HOUR] } as const

/** Whether a call that began at `at` counts: the cell that it is in ends within the window. */
const counts = (window: MetricWindow, at: number, now: number): boolean => {
  const [span, width] = SPANS[window]
  return Math.floor(at / width) >= Math.floor((now - span) / width)
}

/** The figures of the raw records, as they are counted in memory. */
function figuresOf(calls: readonly CallEntry[]) {
  const metrics = new ToolMetrics()
  const records = calls.map(
    ({ tool, code, durationMs }) => ({ tool, code: code ?? undefined, executionTimeMs: durationMs }) as CallRecord,
  )
  metrics.write({ records, epoch: 0 })
  return metrics.figures()
}

test('figures that are put together from cells of any number of servers are those of the raw records', async () => {
  const entry = fc.record({
    ageMs: fc.oneof(fc.nat(2 * HOUR), fc.nat(30 * HOUR), fc.nat(8 * DAY)),
    server: fc.nat(1),
    tenant: fc.constantFrom('a', 'b', '*', '**'),
    tool: fc.constantFrom('one', 'two', '__proto__', 'constructor'),
    code: fc.constantFrom(null, null, 'TIMEOUT' as const, 'TOOL_NOT_FOUND' as const),
    // In eighths the sums are exact, whatever the order.
    durationMs: fc.oneof(fc.nat(100), fc.nat(1_000_000)).map((eighths) => eighths / 8),
  })
  const step = fc.record({ entries: fc.array(entry, { maxLength: 8 }), pauseMs: fc.nat(3 * HOUR) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
      const first = openLedger({ instance: 'server-1' })
      const { stored, clock } = first
      const second = openLedger({ instance: 'server-2', stored, clock })
      const servers = [first.ledger, second.ledger] as const
      const calls: CallEntry[] = []
      for (const { entries, pauseMs } of steps) {
        for (const { ageMs, server, tenant, tool, code, durationMs } of entries) {
          const made = call({ at: clock.wall() - ageMs, tenant, tool, code, durationMs })
          calls.push(made)
          await servers[server as 0 | 1].append([made], [])
        }
        clock.advance(pauseMs)
        await settle()
      }
      await Promise.all(servers.map((ledger) => ledger.close()))
      for (const window of ['1h', '24h', '7d'] as const) {
        for (const tenant of ['a', 'b', '*', '**', undefined]) {
          const raw = calls.filter(
            (one) => (tenant === undefined || one.tenant === tenant) && counts(window, one.at, clock.wall()),
          )
          const found = await first.ledger.executions({ tenant, window })
          expect(found).toEqual({ window, ...figuresOf(raw) })
        }
      }
    }),
    { numRuns: 40 },
  )
})

describe('windows', () => {
  test.each([
    ['1h', HOUR, MINUTE],
    ['24h', DAY, HOUR],
    ['7d', 7 * DAY, HOUR],
  ] as const)('%s counts the cells that end in it, and none before', async (window, span, width) => {
    const { ledger, clock } = openLedger()
    clock.advance(10.5 * MINUTE)
    const now = clock.wall()
    const firstStart = Math.floor((now - span) / width) * width
    await ledger.append([call({ at: now }), call({ at: firstStart }), call({ at: firstStart - 1 })], [])
    expect((await ledger.executions({ tenant: 'acme', window })).total).toBe(2)
  })

  test('a tenant sees nothing of another, and an empty window is all zeros', async () => {
    const { ledger } = openLedger()
    await ledger.append([call({ model: 'm' })], [run()])
    const zeros = { total: 0, success_rate: 0, avg_ms: 0, p50_ms: 0, p95_ms: 0, p99_ms: 0, errors: {}, tools: {} }
    for (const tenant of ['other', '*']) {
      expect(await ledger.executions({ tenant, window: '24h' })).toEqual({ window: '24h', ...zeros })
      expect(await ledger.models({ tenant, window: '24h' })).toEqual({ window: '24h', models: {} })
      expect(await ledger.parameterSets({ tenant, window: '24h', tool: 'weather' })).toEqual([])
    }
  })

  test('a clock that runs ahead on another server puts no call into the future', async () => {
    const { ledger, clock } = openLedger()
    await ledger.append([call({ at: clock.wall() + DAY })], [])
    expect((await ledger.executions({ tenant: 'acme', window: '1h' })).total).toBe(1)
  })
})

describe('models', () => {
  const runs: StoredRun[] = [
    run({ id: '1', iterations: 1, tool_calls: 0, duration_ms: 100 }),
    run({ id: '2', iterations: 3, tool_calls: 2, duration_ms: 400, cost: 0.25 }),
    run({ id: '3', iterations: 5, tool_calls: 4, duration_ms: 600, cost: 0.5, stop_reason: 'max_iterations' }),
    run({ id: '4', tenant: 'other', model: 'ollama:llama', stop_reason: 'cancelled' }),
  ]
  const model = 'openai:gpt-4o'
  const calls = [
    call({ model }),
    call({ model, code: 'TIMEOUT' }),
    call({ model, tool: 'made-up', code: 'TOOL_NOT_FOUND' }),
    call({ model: 'ollama:llama', tenant: 'other', tool: 'b' }),
    call(),
  ]

  test('have the times of runs with and without tools, their cost and their calls', async () => {
    const { ledger } = openLedger()
    await ledger.append(calls, runs)
    const { models, tenants } = await ledger.models({ tenant: 'acme', window: '1h' })
    expect(tenants).toBeUndefined()
    expect(models).toEqual({
      [model]: {
        runs: 3,
        runs_with_tools: 2,
        tool_calls: 6,
        avg_iterations: 3,
        max_iterations: 5,
        limit_hits: { max_iterations: 1 },
        stop_reasons: { stop: 2, max_iterations: 1 },
        with_tools: {
          avg_ms: 500,
          p50_ms: expect.closeTo(400, -1.5),
          p95_ms: expect.any(Number),
          p99_ms: expect.any(Number),
        },
        without_tools: {
          avg_ms: 100,
          p50_ms: expect.closeTo(100, -1),
          p95_ms: expect.any(Number),
          p99_ms: expect.any(Number),
        },
        prompt_tokens: 300,
        completion_tokens: 60,
        cost: 0.75,
        tools: { weather: { calls: 2, failed: 1 }, '(unknown tools)': { calls: 1, failed: 1 } },
      },
    })
  })

  test('of all tenants also have the sums of each', async () => {
    const { ledger } = openLedger()
    await ledger.append(calls, runs)
    for (const window of ['1h', '24h', '7d'] as const) {
      const { models, tenants } = await ledger.models({ tenant: undefined, window })
      expect(Object.keys(models).sort()).toEqual(['ollama:llama', model])
      expect(tenants).toEqual({ acme: { calls: 4, runs: 3, cost: 0.75 }, other: { calls: 1, runs: 1, cost: null } })
    }
  })
})
