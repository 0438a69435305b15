import { describe, expect, test } from 'vitest'
import { toolyard } from '../core/fixtures/code-yard.ts'
import type { CallRecord } from '../core/records/recorder.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import { ToolExecutionError } from '../core/tool-result.ts'
import { readFigures } from './fixtures/read-figures.ts'
import { Prometheus } from './prometheus.ts'

/** An executor whose calls are counted. */
function counted() {
  const prometheus = new Prometheus()
  const yard = toolyard({ sinks: [prometheus] })
  yard.add('echo', async (params) => params)
  yard.add('broken', async () => {
    throw new Error('no')
  })
  return { ...yard, prometheus }
}

/** What is said of a figure, by its labels. */
async function figure(prometheus: Prometheus, tenant: string | undefined, name: string) {
  const samples = readFigures(await prometheus.text(tenant))
  return samples.filter((sample) => sample.name === name).map(({ labels, value }) => ({ ...labels, n: value }))
}

const CALLS = 'toolyard_tool_calls_total'

const record = (of: Partial<CallRecord>): CallRecord => ({
  tool: 'echo',
  tenant: 'acme',
  caller: undefined,
  source: undefined,
  runId: undefined,
  params: {},
  nodes: 0,
  code: undefined,
  outcomeUnknown: false,
  attempts: 1,
  schemaHash: 'hash',
  model: undefined,
  startedMs: 0,
  executionTimeMs: 3,
  ...of,
})

const run = (of: Partial<StoredRun>): StoredRun => ({
  id: 'run-1',
  tenant: 'acme',
  caller: null,
  model: 'openai:gpt-9',
  service: 'chat',
  started_at: '2026-01-01T00:00:00.000Z',
  duration_ms: 1_200,
  stop_reason: 'stop',
  iterations: 1,
  tool_calls: 1,
  prompt_tokens: 100,
  completion_tokens: 20,
  cost: 0.5,
  error: null,
  question: '',
  answer: '',
  steps: [],
  ...of,
})

describe('calls', () => {
  test('are counted by tool, outcome and error code, per tenant and in total', async () => {
    const { executor, prometheus } = counted()
    await executor.execute('echo', {}, { tenant: 'acme' })
    await executor.execute('echo', {}, { tenant: 'acme' })
    await executor.execute('broken', {}, { tenant: 'acme' })
    await executor.execute('echo', {}, { tenant: 'other' })
    executor.flush()
    const broken = { tool: 'broken', outcome: 'failure', error_code: 'EXECUTION_ERROR', n: 1 }
    expect(await figure(prometheus, 'acme', CALLS)).toEqual([{ tool: 'echo', outcome: 'success', n: 2 }, broken])
    expect(await figure(prometheus, 'other', CALLS)).toEqual([{ tool: 'echo', outcome: 'success', n: 1 }])
    expect(await figure(prometheus, undefined, CALLS)).toEqual([{ tool: 'echo', outcome: 'success', n: 3 }, broken])
    expect(await figure(prometheus, 'acme', 'toolyard_tool_call_duration_seconds_count')).toEqual([
      { tool: 'echo', n: 2 },
      { tool: 'broken', n: 1 },
    ])
    expect(await figure(prometheus, 'nobody', CALLS)).toEqual([])
  })

  test('are measured by duration', async () => {
    const prometheus = new Prometheus()
    prometheus.write({ records: [record({ executionTimeMs: 50 })], epoch: 0 })
    const buckets = await figure(prometheus, 'acme', 'toolyard_tool_call_duration_seconds_bucket')
    expect(buckets.find(({ n }) => n === 1)).toMatchObject({ le: '0.05' })
    expect(await figure(prometheus, 'acme', 'toolyard_tool_call_duration_seconds_sum')).toEqual([
      { tool: 'echo', n: 0.05 },
    ])
  })

  test('of a write that may have happened have the outcome unknown', async () => {
    const prometheus = new Prometheus()
    prometheus.write({ records: [record({ code: 'TIMEOUT', outcomeUnknown: true })], epoch: 0 })
    expect(await figure(prometheus, 'acme', CALLS)).toEqual([
      { tool: 'echo', outcome: 'unknown', error_code: 'TIMEOUT', n: 1 },
    ])
  })

  test('of unknown tools share one series, even if other callers have the tool', async () => {
    const { executor, prometheus } = counted()
    await executor.execute('echo', {}, { tenant: 'other' })
    for (let n = 0; n < 50; n++) await executor.execute(`made-up-${n}`, {}, { tenant: 'acme' })
    await executor.execute('echo', {}, { tenant: 'acme', visible: new Set() })
    executor.refuse('made-up-again', new ToolExecutionError('EXECUTION_ERROR', 'enough'), { tenant: 'acme' })
    executor.flush()
    const unknown = [
      { tool: '(unknown tools)', outcome: 'failure', error_code: 'TOOL_NOT_FOUND', n: 51 },
      { tool: '(unknown tools)', outcome: 'failure', error_code: 'EXECUTION_ERROR', n: 1 },
    ]
    expect(await figure(prometheus, 'acme', CALLS)).toEqual(unknown)
    expect(await figure(prometheus, undefined, CALLS)).toEqual([{ tool: 'echo', outcome: 'success', n: 1 }, ...unknown])
  })

  test('that were refused count for their tool if it is known', async () => {
    const { executor, prometheus } = counted()
    await executor.execute('echo', {}, { tenant: 'acme' })
    executor.refuse('echo', new ToolExecutionError('EXECUTION_ERROR', 'enough'), { tenant: 'acme' })
    executor.flush()
    expect((await figure(prometheus, 'acme', CALLS)).map(({ n, ...labels }) => [Object.values(labels), n])).toEqual([
      [['echo', 'success'], 1],
      [['echo', 'failure', 'EXECUTION_ERROR'], 1],
    ])
  })

  test('of very many tools share one series above the limit', async () => {
    const prometheus = new Prometheus()
    prometheus.write({ records: Array.from({ length: 600 }, (_, n) => record({ tool: `tool-${n}` })), epoch: 0 })
    const calls = await figure(prometheus, 'acme', CALLS)
    expect(calls).toHaveLength(501)
    expect(calls.at(-1)).toEqual({ tool: '(other tools)', outcome: 'success', n: 100 })
  })

  test('of a tool with an odd name can be read', async () => {
    const prometheus = new Prometheus()
    const tool = 'a"b\\c\nd{}= ,é'
    prometheus.write({ records: [record({ tool })], epoch: 0 })
    expect(await figure(prometheus, 'acme', CALLS)).toEqual([{ tool, outcome: 'success', n: 1 }])
  })
})

test('runs are counted by model and end, with their time, tokens and cost', async () => {
  const prometheus = new Prometheus()
  prometheus.run(run({}))
  prometheus.run(run({ stop_reason: 'budget', prompt_tokens: Number.NaN, completion_tokens: -1, cost: null }))
  const model = 'openai:gpt-9'
  for (const tenant of ['acme', undefined]) {
    expect(await figure(prometheus, tenant, 'toolyard_runs_total')).toEqual([
      { model, stop_reason: 'stop', n: 1 },
      { model, stop_reason: 'budget', n: 1 },
    ])
    expect(await figure(prometheus, tenant, 'toolyard_run_duration_seconds_sum')).toEqual([{ model, n: 2.4 }])
    expect(await figure(prometheus, tenant, 'toolyard_run_tokens_total')).toEqual([
      { model, type: 'prompt', n: 100 },
      { model, type: 'completion', n: 20 },
    ])
    expect(await figure(prometheus, tenant, 'toolyard_run_cost_total')).toEqual([{ model, n: 0.5 }])
  }
})

describe('tenants', () => {
  test('above the limit replace the least recently active ones, and totals stay', async () => {
    const prometheus = new Prometheus()
    const call = (tenant: string) => prometheus.write({ records: [record({ tenant })], epoch: 0 })
    for (let n = 0; n < 1_000; n++) call(`tenant-${n}`)
    call('tenant-0')
    call('one more')
    expect(await figure(prometheus, 'tenant-1', CALLS)).toEqual([])
    expect(await figure(prometheus, 'tenant-0', CALLS)).toMatchObject([{ n: 2 }])
    expect(await figure(prometheus, 'one more', CALLS)).toMatchObject([{ n: 1 }])
    expect(await figure(prometheus, undefined, CALLS)).toMatchObject([{ n: 1_002 }])
  })

  test('with very many tools are replaced earlier', async () => {
    const prometheus = new Prometheus()
    for (let n = 0; n < 50; n++) {
      const records = Array.from({ length: 500 }, (_, at) => record({ tenant: `tenant-${n}`, tool: `tool-${at}` }))
      prometheus.write({ records, epoch: 0 })
    }
    expect(await figure(prometheus, 'tenant-9', CALLS)).toEqual([])
    expect(await figure(prometheus, 'tenant-10', CALLS)).toHaveLength(500)
  })
})

describe('the whole installation', () => {
  test('shows the process and the gauges, which no tenant sees', async () => {
    const prometheus = new Prometheus()
    let streams = 3
    prometheus.gauge({ name: 'toolyard_open_streams', help: 'Streams that are open.', read: () => streams })
    prometheus.write({ records: [record({})], epoch: 0 })
    expect(await figure(prometheus, undefined, 'toolyard_open_streams')).toEqual([{ n: 3 }])
    streams = 4
    const whole = readFigures(await prometheus.text(undefined)).map(({ name, value }) => [name, value])
    expect(whole).toContainEqual(['toolyard_open_streams', 4])
    expect(whole.map(([name]) => name)).toContain('process_resident_memory_bytes')
    expect(await prometheus.text('acme')).not.toMatch(/process_|nodejs_|toolyard_open_streams/)
    expect(prometheus.contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
  })

  test('leaves out a gauge that fails or times out', async () => {
    const prometheus = new Prometheus()
    let ready = 1
    const read = () => {
      if (ready === 0) throw new Error('gone')
      return ready
    }
    prometheus.gauge({ name: 'toolyard_store_ready', help: 'Whether the store is ready.', read })
    prometheus.gauge({ name: 'toolyard_stuck', help: 'Never known.', read: () => new Promise(() => {}) })
    expect(await figure(prometheus, undefined, 'toolyard_store_ready')).toEqual([{ n: 1 }])
    ready = 0
    expect(await figure(prometheus, undefined, 'toolyard_store_ready')).toEqual([])
    expect(await figure(prometheus, undefined, 'toolyard_stuck')).toEqual([])
  })
})
