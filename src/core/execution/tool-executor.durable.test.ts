import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import { later, toolyard } from '../fixtures/code-yard.ts'
import type { CallBatch } from '../records/recorder.ts'
import type { SpanFacts, SpanKind } from '../records/tracer.ts'

/** Until a call waits for its record: the recorder collects the records of one turn of the event loop. */
async function recorded(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await nextTurn()
}

test('a durable call waits for its record, and calls that end together are written together', async () => {
  const batches: CallBatch[] = []
  let written = (): void => {}
  const sink = {
    write: (batch: CallBatch) => {
      batches.push(batch)
      return new Promise<void>((resolve) => {
        written = resolve
      })
    },
  }
  const { executor, add } = toolyard({ durable: true, sinks: [sink] })
  add('tool', () => 1)
  let answered = 0
  const calls = [1, 2, 3].map(() => executor.execute('tool', {}).then(() => answered++))
  await recorded()
  expect([answered, batches.length, batches[0]?.records.length]).toEqual([0, 1, 3])
  written()
  await Promise.all(calls)
  expect(answered).toBe(3)
})

test('a durable call whose record is lost returns, and the loss is logged', async () => {
  const log = captureLog()
  const sink = { write: () => Promise.reject(new Error('disk full')) }
  const { executor, add } = toolyard({ durable: true, sinks: [sink], log })
  add('tool', () => 1)
  expect(await executor.execute('tool', {})).toMatchObject({ success: true })
  expect(log.lines.map(({ message }) => message)).toContain('A record sink failed, its records of these calls are lost')
})

test('a store that never answers delays a durable call by less than a second', async () => {
  const clock = new ManualClock()
  const { executor, add } = toolyard({ durable: true, sinks: [{ write: () => new Promise<void>(() => {}) }], clock })
  add('tool', () => 1)
  const call = executor.execute('tool', {})
  await recorded()
  clock.advance(999)
  expect(await call).toMatchObject({ success: true })
})

test('a record has the tool, the model, the attempts and whether the outcome is unknown', async () => {
  const { executor, add, records } = toolyard()
  let tries = 0
  const flaky = () => {
    if (++tries < 3) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    return 'there'
  }
  add('flaky', flaky, { effect: 'read', retry: { max_attempts: 3, backoff_ms: 1 } })
  add('slow', () => later(500), { timeout_ms: 10 })
  await executor.execute('flaky', {}, { model: 'mini:v1' })
  await executor.execute('slow', {})
  await executor.execute('nowhere', {})
  executor.flush()
  expect(
    records.map(({ attempts, outcomeUnknown, model, schemaHash }) => [
      attempts,
      outcomeUnknown,
      model,
      typeof schemaHash,
    ]),
  ).toEqual([
    [3, false, 'mini:v1', 'string'],
    [1, true, undefined, 'string'],
    [0, false, undefined, 'undefined'],
  ])
})

test('traces a call, and its handler can pass the trace on', async () => {
  const told: [SpanKind, string, string | undefined, SpanFacts][] = []
  const tracer = {
    start: (kind: SpanKind, name: string, parent: string | undefined) => ({
      traceparent: `00-${name}-01`,
      end: (facts: SpanFacts) => void told.push([kind, name, parent, facts]),
    }),
  }
  const { executor, add } = toolyard({ tracer })
  add('tool', (_, { traceparent }) => traceparent)
  expect(await executor.execute('tool', {}, { traceparent: 'above', tenant: 'a' })).toMatchObject({
    result: '00-tool-01',
  })
  await executor.execute('nowhere', {})
  expect(told).toEqual([
    ['execute_tool', 'tool', 'above', { tool: 'tool', tenant: 'a' }],
    ['execute_tool', 'nowhere', undefined, { tool: 'nowhere', tenant: 'local', errorType: 'TOOL_NOT_FOUND' }],
  ])
})

test('passes a valid traceparent on without a tracer', async () => {
  const { executor, add } = toolyard()
  add('tool', (_, { traceparent }) => traceparent)
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  expect(await executor.execute('tool', {}, { traceparent })).toMatchObject({ result: traceparent })
  for (const wrong of ['', 'x', `${traceparent}\n`, 7 as never]) {
    expect(await executor.execute('tool', {}, { traceparent: wrong })).toMatchObject({ result: null })
  }
})

test("a failing tracer doesn't fail the call", async () => {
  const broken = () => {
    throw new Error('no collector')
  }
  const { executor, add } = toolyard({ tracer: { start: () => ({ traceparent: '', end: broken }) } })
  add('tool', () => 1)
  expect(await executor.execute('tool', {})).toMatchObject({ success: true })
  const worse = toolyard({ tracer: { start: broken } })
  worse.add('tool', () => 1)
  expect(await worse.executor.execute('tool', {})).toMatchObject({ success: true })
})

test('the timeout of a job is not clamped', async () => {
  const { executor, add } = toolyard()
  add('tool', () => later(2_000))
  const result = await executor.execute('tool', {}, { source: 'job', timeoutMs: 20 })
  expect(result).toMatchObject({ error: 'Tool execution timed out after 20ms' })
})
