import { describe, expect, test } from 'vitest'
import { call, GO, loopSetup, told } from '../../chat/fixtures/loop-setup.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { captureLog, type GivenTurn, scripted } from '../../testing/stand-ins.ts'
import { MemoryToolUses } from './fixtures/memory-tool-uses.ts'
import { currentTool, schemaHash } from './tool-use.ts'
import { type GateSettings, ToolUseGate } from './tool-use-gate.ts'
import { ToolUseTracker } from './tool-use-tracker.ts'

/** A loop with the tools `add` and `sub` and a validation gate. */
function gatedRuntime(decision: 'warn' | 'hide', settings: GateSettings = {}) {
  const store = new MemoryToolUses()
  const log = captureLog()
  const gate = new ToolUseGate(store, decision, settings, log)
  const runs: StoredRun[] = []
  const yard = loopSetup({ gate: gate.judge, onRun: (run) => void runs.push(run), log })
  const tracker = new ToolUseTracker({ store })
  for (const name of ['add', 'sub']) yard.add(name, () => 1)
  return {
    ...yard,
    store,
    gate,
    log,
    runs,
    /** Records trials of the model with a tool. */
    async tried(tool: string, trials: number, successes: number, more: { tenant?: string; model?: string } = {}) {
      const definition = currentTool(yard.registry)(tool)
      if (definition === undefined) throw new Error(`There is no ${tool}`)
      const key = { tenant: 'acme', model: 'scripted:turns', tool, schemaHash: schemaHash(definition), ...more }
      for (let n = 0; n < trials; n++) {
        const failed = { passed: false, kind: 'wrong_type', message: '' } as const
        tracker.record({ ...key, outcome: n < successes ? { passed: true } : failed, source: 'suite' })
      }
      await tracker.flush()
      await gate.refresh()
    },
    async ask(...turns: GivenTurn[]) {
      const model = scripted(...turns)
      const run = await told(yard.loop.run({ model, messages: GO, context: { tenant: 'acme' } }))
      return { ...run, offered: model.requests[0]?.tools.map(({ name }) => name) }
    },
  }
}

const figures = { trials: 10, successes: 7, rate: 0.7, lower_bound: 0.3968, threshold: 0.8 }

describe('hide', () => {
  test('does not offer a tool that the model fails with, and reports the counts', async () => {
    const { tried, ask, runs, log } = gatedRuntime('hide')
    await tried('add', 10, 7)
    const { answer, events, offered } = await ask('Hi.')
    const decision = { tool: 'add', decision: 'hide', ...figures }
    expect(offered).toEqual(['sub'])
    expect(answer.gate).toEqual([decision])
    expect(events[0]).toEqual({ type: 'gate', decisions: [decision] })
    expect(runs[0]?.gate).toEqual([decision])
    expect(log.at('warn')).toMatchObject([{ model: 'scripted:turns', gate: [decision] }])
  })

  test('a hidden tool is unknown if called by name', async () => {
    const { tried, ask, executor } = gatedRuntime('hide')
    await tried('add', 10, 7)
    const { answer } = await ask(call('add'), 'Done.')
    expect(answer.tool_calls).toMatchObject([{ result: { success: false, error_code: 'TOOL_NOT_FOUND' } }])
    expect(await executor.execute('add', {}, { tenant: 'acme' })).toMatchObject({ success: true })
  })

  test('offers the tool again after its description changes', async () => {
    const { tried, ask, add } = gatedRuntime('hide')
    await tried('add', 10, 0)
    expect((await ask('Hi.')).offered).toEqual(['sub'])
    add('add', () => 1, { description: 'Adds two numbers, and says what came of it' })
    const { offered, answer } = await ask('Hi.')
    expect(offered).toEqual(['add', 'sub'])
    expect(answer).not.toHaveProperty('gate')
  })

  test('ignores other models and other tenants', async () => {
    const { tried, ask } = gatedRuntime('hide')
    await tried('add', 10, 0, { tenant: 'other' })
    await tried('add', 10, 0, { model: 'other:model' })
    expect((await ask('Hi.')).offered).toEqual(['add', 'sub'])
  })
})

test('warn: offers the tool, and reports the counts', async () => {
  const { tried, ask } = gatedRuntime('warn')
  await tried('add', 10, 7)
  const { answer, offered } = await ask(call('add'), 'Done.')
  expect(offered).toEqual(['add', 'sub'])
  expect(answer.gate).toEqual([{ tool: 'add', decision: 'warn', ...figures }])
  expect(answer.tool_calls).toMatchObject([{ result: { success: true } }])
})

test('does nothing with few trials or a good rate', async () => {
  const { tried, ask } = gatedRuntime('hide', { minimum_trials: 5, threshold: 0.5 })
  await tried('add', 4, 0)
  await tried('sub', 10, 5)
  expect((await ask('Hi.')).offered).toEqual(['add', 'sub'])
  await tried('add', 1, 0)
  expect((await ask('Hi.')).offered).toEqual(['sub'])
})

test('keeps the previous state while the store fails, and never makes a run wait', async () => {
  const { tried, ask, gate, store, log } = gatedRuntime('hide')
  await tried('add', 10, 0)
  store.doubtful = async () => {
    throw new Error('down')
  }
  await gate.refresh()
  expect((await ask('Hi.')).offered).toEqual(['sub'])
  expect(log.at('warn')).toMatchObject([{ err: { message: 'down' } }, {}])
  store.doubtful = () => new Promise(() => {})
  void gate.refresh()
  expect((await ask('Hi.')).offered).toEqual(['sub'])
})

test('reads again after a change during a read', async () => {
  const { ask, gate, store, tried } = gatedRuntime('hide')
  const answers: (() => void)[] = []
  const doubtful = store.doubtful.bind(store)
  store.doubtful = async (...args) => {
    const found = await doubtful(...args)
    if (answers.length === 0) await new Promise<void>((resolve) => answers.push(resolve))
    return found
  }
  const first = gate.refresh()
  await new Promise(setImmediate)
  const second = tried('add', 10, 0)
  await new Promise(setImmediate)
  answers[0]?.()
  await Promise.all([first, second])
  expect((await ask('Hi.')).offered).toEqual(['sub'])
})
