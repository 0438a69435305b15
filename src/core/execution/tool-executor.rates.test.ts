import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../testing/stand-ins.ts'
import { toolyard } from '../fixtures/code-yard.ts'
import type { RateState } from '../rates.ts'

const minute = (calls: number) => ({
  key: 'caller a',
  calls,
  perMs: 60_000,
  description: `Caller 'a' may make ${calls} calls a minute`,
})

describe('rate limits', () => {
  test('apply to a caller across tools, and the error says when to try again', async () => {
    const clock = new ManualClock()
    const { executor, add } = toolyard({ clock })
    add('one', () => 1)
    add('two', () => 2)
    const context = { rates: [minute(2)] }
    await executor.execute('one', {}, context)
    clock.advance(1_000)
    await executor.execute('two', {}, context)
    expect(await executor.execute('one', {}, context)).toMatchObject({
      error_code: 'RATE_LIMITED',
      error: "Caller 'a' may make 2 calls a minute: try again in 59 s",
    })
    clock.advance(59_000)
    expect(await executor.execute('one', {}, context)).toMatchObject({ success: true })
  })

  test("a call over the caller's limit doesn't count against the tool", async () => {
    const { executor, add } = toolyard({ clock: new ManualClock() })
    add('tool', () => 1, { rate_limit: { calls: 2, per_ms: 1_000 } })
    const poor = { rates: [minute(1)] }
    for (const _ of [1, 2, 3]) await executor.execute('tool', {}, poor)
    expect(await executor.execute('tool', {})).toMatchObject({ success: true })
    expect(await executor.execute('tool', {})).toMatchObject({
      error: "Tool 'tool' allows 2 calls per 1 s: try again in 1 s",
    })
  })

  test('each tenant has its own limit of a tool', async () => {
    const { executor, add } = toolyard({ clock: new ManualClock() })
    add('tool', () => 1, { rate_limit: { calls: 1, per_ms: 1_000 } })
    for (const tenant of ['a', 'b'])
      expect(await executor.execute('tool', {}, { tenant })).toMatchObject({ success: true })
    expect(await executor.execute('tool', {}, { tenant: 'a' })).toMatchObject({ error_code: 'RATE_LIMITED' })
  })

  test("other refusals don't count", async () => {
    const { executor, add } = toolyard({ clock: new ManualClock() })
    add('tool', () => 1, { permissions: ['special'] })
    add('open', () => 1)
    const context = { rates: [minute(1)] }
    for (const name of ['tool', 'nowhere']) await executor.execute(name, {}, context)
    await executor.execute('open', 'no object', context)
    expect(await executor.execute('open', {}, context)).toMatchObject({ success: true })
  })

  test('onRate receives the state of the first limit', async () => {
    const { executor, add } = toolyard({ clock: new ManualClock() })
    add('tool', () => 1)
    const told: RateState[] = []
    const context = {
      rates: [minute(2), { ...minute(9), key: 'other' }],
      onRate: (state: RateState) => void told.push(state),
    }
    for (const _ of [1, 2, 3]) await executor.execute('tool', {}, context)
    expect(told).toEqual([
      { waitMs: 0, remaining: 1 },
      { waitMs: 0, remaining: 0 },
      { waitMs: 60_000, remaining: 0 },
    ])
  })

  test('waits for an asynchronous limit and checks those after it', async () => {
    const asked: string[] = []
    const rates = {
      take: async (key: string) => {
        asked.push(key)
        return { waitMs: key === 'second' ? 5 : 0, remaining: 0 }
      },
      look: () => ({ waitMs: 0, remaining: 0 }),
    }
    const { executor, add } = toolyard({ rates })
    let runs = 0
    add('tool', () => ++runs, { rate_limit: { calls: 1, per_ms: 1 } })
    const first = { ...minute(1), key: 'first' }
    expect(await executor.execute('tool', {}, { rates: [first] })).toMatchObject({ result: 1 })
    const second = { ...minute(1), key: 'second' }
    expect(await executor.execute('tool', {}, { rates: [first, second] })).toMatchObject({ error_code: 'RATE_LIMITED' })
    expect([asked, runs]).toEqual([['first', 'tool local tool', 'first', 'second'], 1])
  })
})
