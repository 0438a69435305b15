import { expect, test } from 'vitest'
import type { StoredRun } from '../../../src/core/storage/run-store.ts'
import { newRun, nextRun, storedRun } from './run-state.ts'

const result = { success: true, result: 1, tool_name: 'add', execution_time_ms: 4 } as const
const call = { id: 'c', function: { name: 'add', arguments: '{"a":1}' } }

test('the events of a run become turns with their calls', () => {
  let run = newRun('m:1', 'What?', 0)
  const events = [
    [10, 'tool-call-start', { id: 'c', name: 'add' }],
    [11, 'tool-call-delta', { id: 'c', text: '{"a":1}' }],
    [20, 'tool-call-end', { call }],
    [24, 'call-result', { id: 'c', call: { tool: 'add', params: { a: 1 }, result, iteration: 1 } }],
    [40, 'text-delta', { text: 'One' }],
    [50, 'answer', { content: 'One', stop_reason: 'stop' }],
  ] as const
  for (const [now, event, data] of events) run = nextRun(run, { event, data }, now)
  expect(run).toMatchObject({ status: 'done', durationMs: 50 })
  expect(run.turns).toMatchObject([
    { durationMs: 20, calls: [{ tool: 'add', params: { a: 1 }, result, startedAt: 20 }] },
    { startedAt: 24, durationMs: 26, text: 'One', calls: [] },
  ])
})

test('a failed stream fails the run', () => {
  const run = nextRun(newRun('m:1', 'What?', 0), { event: 'error', data: { error: 'No model' } }, 5)
  expect(run).toMatchObject({ status: 'failed', problem: 'No model', durationMs: 5 })
})

test('a stored run has its turns, also without the parameters and results of its calls', () => {
  const at = '2026-01-01T00:00:00.000Z'
  const steps = [
    { type: 'model', iteration: 1, started_at: at, duration_ms: 5, prompt_tokens: 2, completion_tokens: 1 },
    { type: 'tool', iteration: 1, started_at: at, duration_ms: 4, tool: 'add' },
  ]
  const { turns } = storedRun({ steps } as unknown as StoredRun)
  expect(turns).toMatchObject([{ durationMs: 5, tokens: 3, calls: [{ tool: 'add', params: undefined }] }])
})
