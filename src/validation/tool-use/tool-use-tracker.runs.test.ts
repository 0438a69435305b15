import { expect, test } from 'vitest'
import { call, GO, loopSetup } from '../../chat/fixtures/loop-setup.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { type GivenTurn, scripted } from '../../testing/stand-ins.ts'
import { currentTool, schemaHash, type ToolUse } from './tool-use.ts'
import { runUses } from './tool-use-tracker.ts'

const schema = {
  type: 'object',
  properties: { n: { type: 'number', maximum: 9 } },
  required: ['n'],
  additionalProperties: false,
}

/** The uses counted for a run with these turns, and the tool's hash. */
async function counted(...turns: GivenTurn[]) {
  const uses: ToolUse[] = []
  const { loop, add, registry } = loopSetup({
    onCalls: (calls, context) => uses.push(...runUses(calls, context, currentTool(registry))),
  })
  add(
    'add',
    ({ n }) => {
      if (n === 7) throw new ToolExecutionError('PERMISSION_DENIED', 'Not that one')
      if (n === 8) throw new Error('broken')
      return n
    },
    { parameters: schema },
  )
  const context = { tenant: 'acme', runId: 'run-1' }
  await loop.answer({ model: scripted(...turns), messages: GO, context })
  const tool = currentTool(registry)('add')
  return { uses, hash: tool && schemaHash(tool) }
}

const outcomes = (uses: readonly ToolUse[]) =>
  uses.map(({ tool, outcome }) => [tool, outcome.passed ? 'passed' : outcome.kind])

test('a call that reached the tool is a success of the model, even if the tool failed', async () => {
  const { uses, hash } = await counted(call('add', { n: 1 }), call('add', { n: 7 }), call('add', { n: 8 }), 'Done.')
  expect(outcomes(uses)).toEqual(Array(3).fill(['add', 'passed']))
  expect(uses[0]).toEqual({
    tenant: 'acme',
    model: 'scripted:turns',
    tool: 'add',
    schemaHash: hash,
    outcome: { passed: true },
    source: 'run',
    runId: 'run-1',
  })
})

test.each([
  [{}, 'missing_parameter'],
  [{ n: 1, m: 2 }, 'unexpected_parameter'],
  [{ n: 'one' }, 'wrong_type'],
  [{ n: 10 }, 'wrong_value'],
  ['{"n": 1', 'malformed_call'],
  ['[1]', 'malformed_call'],
])('a call with %j is a failure: %s', async (params, kind) => {
  const { uses } = await counted(call('add', params), 'Done.')
  expect(outcomes(uses)).toEqual([['add', kind]])
  expect(uses[0]?.outcome).toMatchObject({ message: expect.stringMatching(/./) })
})

test('invented tools are counted as one', async () => {
  const { uses } = await counted({ calls: [{ name: 'ad' }, { name: 'plus' }] }, 'Done.')
  expect(outcomes(uses)).toEqual(Array(2).fill(['(unknown)', 'unknown_tool']))
  expect(uses[0]).toMatchObject({ schemaHash: '', outcome: { actual: 'ad' } })
})

test('a call recovered from text is a failure, although it ran', async () => {
  const { uses } = await counted(
    { calls: [{ name: 'add', arguments: { n: 1 }, metadata: { recovered: true } }] },
    'Done.',
  )
  expect(outcomes(uses)).toEqual([['add', 'recovered_call']])
})

test('a call that did not run because it was repeated is not counted', async () => {
  const { uses } = await counted(...Array(3).fill(call('add', { n: 'x' })), 'Done.')
  expect(outcomes(uses)).toEqual(Array(2).fill(['add', 'wrong_type']))
})

test('a call before the first model request is not counted', async () => {
  const result = { success: true, result: 1, tool_name: 'add', execution_time_ms: 1 } as const
  const calls = [{ tool: 'add', params: { n: 1 }, result, iteration: 0 }]
  expect(runUses(calls, { model: 'a:b' }, () => undefined)).toEqual([])
})
