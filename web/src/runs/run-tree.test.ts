import { expect, test } from 'vitest'
import type { RunStep } from '../../../src/core/storage/run-store.ts'
import type { AgentRun } from '../../../src/server/http/views.ts'
import { flatTree, periodOf, runTree, totalOf } from './run-tree.ts'

const at = (ms: number): string => new Date(1_000_000 + ms).toISOString()

const turn = (ms: number, duration_ms: number, more: Partial<RunStep> = {}): RunStep => ({
  ...{ type: 'model', iteration: 1, started_at: at(ms), duration_ms },
  ...more,
})
const call = (tool: string, ms: number, duration_ms: number, result: unknown = { success: true }): RunStep => ({
  ...{ type: 'tool', iteration: 1, started_at: at(ms), duration_ms, tool, result },
})
const agent = (id: string, ms: number, more: Partial<AgentRun> = {}): AgentRun => ({
  ...{ id, tenant: 'local', caller: null, model: 'mini:v1', service: 'mini', started_at: at(ms), duration_ms: 5 },
  ...{ stop_reason: 'stop', iterations: 1, tool_calls: 0, prompt_tokens: 3, completion_tokens: 2, cost: 0.5 },
  ...{ error: null, agents: [] },
  ...more,
})
const titles = (nodes: ReturnType<typeof runTree>) => flatTree(nodes).map(({ depth, title }) => `${depth} ${title}`)

test('calls stand below their turn', () => {
  const steps = [turn(0, 10), call('a', 10, 5), call('b', 10, 7), turn(20, 3)]
  expect(titles(runTree({ steps }))).toEqual(['0 Turn 1', '1 a', '1 b', '0 Turn 2'])
})

test('calls before the first turn stand by themselves', () => {
  expect(titles(runTree({ steps: [call('a', 0, 1), turn(1, 1)] }))).toEqual(['0 a', '0 Turn 1'])
})

test('the run of an agent stands below the shortest call that ran when it started', () => {
  const steps = [turn(0, 10), call('long', 10, 100), call('short', 30, 20), turn(120, 1)]
  const agents = [agent('one', 35, { agents: [agent('below', 36, { model: 'other:m' })] }), agent('two', 300)]
  expect(titles(runTree({ steps, agents }))).toEqual([
    ...['0 Turn 1', '1 long', '1 short', '2 mini:v1', '3 other:m'],
    ...['0 Turn 2', '0 mini:v1'],
  ])
})

test('the runs of agents stand below the calls of their tools, also if all run at once', () => {
  const steps = [turn(0, 10), call('poet', 10, 90), call('poet', 10, 80), call('clock', 10, 5), call('cook', 10, 70)]
  const agents = [
    ...[agent('one', 11, { agent: 'cook' }), agent('two', 12, { agent: 'poet', model: 'a:first' })],
    ...[agent('three', 13, { agent: 'poet', model: 'a:second' }), agent('four', 14, { agent: 'elsewhere' })],
  ]
  const nodes = flatTree(runTree({ steps, agents }))
  expect(nodes.map(({ depth, title, model }) => [depth, title, model].filter(Boolean).join(' '))).toEqual([
    ...['Turn 1', '1 poet', '2 poet a:first', '1 poet', '2 poet a:second'],
    ...['1 clock', '2 elsewhere mini:v1', '1 cook', '2 cook mini:v1'],
  ])
})

test('the run of an agent has the name of its tool, if that is known', () => {
  const agents = [agent('one', 12, { agent: 'travel_agent', agents: [agent('below', 13, { agent: 'hotel_agent' })] })]
  const nodes = flatTree(runTree({ steps: [turn(0, 10), call('plan', 10, 9)], agents }))
  expect(nodes.slice(2)).toMatchObject([
    { title: 'travel_agent', model: 'mini:v1', runId: 'one' },
    { title: 'hotel_agent', model: 'mini:v1', runId: 'below' },
  ])
})

test('nodes have tokens, cost and failures if they are known', () => {
  const steps = [
    turn(0, 10, { prompt_tokens: 7, completion_tokens: 1, cost: 0.25 }),
    call('a', 10, 5, { success: false, cost: 2 }),
    call('b', 10, 5, undefined),
  ]
  const [first, failed, unknown] = flatTree(runTree({ steps }))
  expect(first).toMatchObject({ tokens: 8, cost: 0.25, failed: false })
  expect(failed).toMatchObject({ cost: 2, failed: true })
  expect(unknown).toMatchObject({ failed: false })
  expect(unknown).not.toHaveProperty('cost')
})

test('the period covers every node, and is never empty', () => {
  expect(periodOf(runTree({ steps: [turn(5, 10), call('a', 15, 30)] }))).toEqual({ from: 1_000_005, ms: 40 })
  expect(periodOf(runTree({ steps: [turn(0, 0)] })).ms).toBe(1)
})

test('the total counts the run, its calls and the agents below it once', () => {
  const steps = [turn(0, 10, { prompt_tokens: 7, completion_tokens: 1, cost: 0.25 }), call('a', 10, 50, { cost: 2 })]
  const agents = [agent('one', 20, { agents: [agent('below', 21)] })]
  const run = { prompt_tokens: 7, completion_tokens: 1, cost: 2.25 }
  expect(totalOf(run, runTree({ steps, agents }))).toEqual({ tokens: 18, cost: 3.25 })
  expect(totalOf({ ...run, cost: null }, runTree({ steps: [turn(0, 1)] })).cost).toBeUndefined()
})
