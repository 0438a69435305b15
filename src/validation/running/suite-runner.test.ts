import { describe, expect, test } from 'vitest'
import { Cancellation } from '../../core/cancellation.ts'
import { ModelError } from '../../models/model-error.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { answering, weather } from './fixtures/hand-made.ts'
import { cases, observed, paris, run } from './fixtures/run-cases.ts'
import { SuiteBudget } from './suite-budget.ts'
import { MAX_UNANSWERED } from './suite-runner.ts'

describe('limits', () => {
  test('concurrency applies per model, and models do not wait for each other', async () => {
    let [now, most] = [0, 0]
    const busy = answering('scripted:busy', async () => {
      most = Math.max(most, ++now)
      await new Promise((resolve) => setImmediate(resolve))
      now--
      return weather('Paris')
    })
    await run(cases(12), { models: [{ model: busy }], concurrency: 3 })
    expect(most).toBe(3)
    let free: () => void = () => {}
    const first = answering('scripted:first', async () => {
      await new Promise<void>((resolve) => {
        free = resolve
      })
      return weather('Paris')
    })
    const second = answering('scripted:second', () => {
      free()
      return weather('Paris')
    })
    const { made } = await run(cases(1), { models: [{ model: first }, { model: second }], concurrency: 1 })
    expect(made.map(({ model }) => model.model.id)).toEqual(['scripted:second', 'scripted:first'])
  })

  test('a trial that times out is not answered, which does not count as a failure', async () => {
    const clock = new ManualClock()
    const slow = answering('scripted:slow', () => {
      setImmediate(() => clock.advance(10_000))
      return { delayMs: 60_000, clock, text: 'late' }
    })
    const { made } = await run(cases(1), { models: [{ model: slow }], clock, timeoutMs: 10_000 })
    expect(made[0]?.verdict).toMatchObject({ kind: 'not_answered', message: expect.stringContaining('10 s') })
  })

  test('cancelling ends running trials without reporting them, and skips the rest', async () => {
    const signal = new Cancellation()
    const model = answering('scripted:stuck', (_, asked) => {
      if (asked === 2) setImmediate(() => signal.abort(new Error('Ctrl-C')))
      return asked < 2 ? weather('Paris') : { delayMs: 3_600_000, text: 'never' }
    })
    const { made, planned, stopped } = await run(cases(5), { models: [{ model }], signal, concurrency: 1 })
    expect([made.length, planned.length, model.asked]).toEqual([1, 5, 2])
    expect(stopped.get('scripted:stuck')).toMatchObject({ reason: 'cancelled' })
  })

  test('a rejecting listener ends the run', async () => {
    const full = new Error('The disk is full')
    const model = answering('scripted:paris', () => weather('Paris'))
    const failing = run(cases(50), { models: [{ model }], concurrency: 1, onTrial: () => Promise.reject(full) })
    await expect(failing).rejects.toBe(full)
    expect(model.asked).toBeLessThan(10)
  })
})

describe('a model that does not answer', () => {
  const unreachable = () => new ModelError('openai:x answered 429: wait, or use another key')

  test('is counted separately, with the reason', async () => {
    const model = answering('scripted:flaky', (_, asked) => (asked === 1 ? unreachable() : weather('Paris')))
    const { made, stopped } = await run(cases(2), { models: [{ model }], concurrency: 1 })
    expect(made.map(({ verdict }) => verdict)).toEqual([
      { passed: false, kind: 'not_answered', message: 'openai:x answered 429: wait, or use another key' },
      { passed: true },
    ])
    expect(stopped.size).toBe(0)
  })

  test.each(['content_filter', 'error'] as const)('an answer that ends with %s is not judged', async (reason) => {
    const { trial } = await observed(
      {},
      answering('scripted:held', () => ({ text: 'I', reason })),
    )
    expect(trial.verdict).toMatchObject({ passed: false, kind: 'not_answered' })
  })

  test('is stopped after a few unanswered trials in a row, while others continue', async () => {
    const dead = answering('scripted:dead', unreachable)
    const told: unknown[] = []
    const { trials, stopped } = await run(cases(30), {
      models: [{ model: dead }, { model: paris }],
      concurrency: 1,
      onStop: (...stop) => void told.push(stop),
    })
    expect([dead.asked, trials.size]).toEqual([MAX_UNANSWERED, MAX_UNANSWERED + 30])
    expect([...stopped]).toEqual([
      [
        'scripted:dead',
        { reason: 'not_answered', message: expect.stringMatching(/5 unanswered trials in a row.*wait, or use/) },
      ],
    ])
    expect(told).toEqual([...stopped])
  })

  test('continues if it answers in between', async () => {
    const model = answering('scripted:flaky', (_, asked) => (asked % MAX_UNANSWERED ? unreachable() : weather('Paris')))
    const { trials, stopped } = await run(cases(20), { models: [{ model }], concurrency: 1 })
    expect([trials.size, stopped.size]).toEqual([20, 0])
  })
})

describe('the budget', () => {
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
  const counted = (id: string) => answering(id, () => ({ ...weather('Paris'), usage }))
  /** One cent per thousand tokens. */
  const prices = { input: 10, output: 10 }

  test('by cost: no request is sent that could exceed it, and finished trials are recorded', async () => {
    const model = counted('scripted:paid')
    const budget = new SuiteBudget({ cost: 0.05 })
    const { trials, stopped } = await run(cases(100), { models: [{ model, prices }], budget, concurrency: 8 })
    expect(budget.total.cost).toBeLessThanOrEqual(0.05)
    expect(budget.total.cost).toBeCloseTo(trials.size * 0.0011)
    expect(trials.size).toBeGreaterThan(5)
    expect(trials.size).toBeLessThan(100)
    expect(stopped.get('scripted:paid')).toMatchObject({
      reason: 'budget',
      message: expect.stringContaining('0.05 USD'),
    })
  })

  test('by tokens, for all models together', async () => {
    const budget = new SuiteBudget({ cost: 1, tokens: 8_000 })
    const models = ['scripted:a', 'scripted:b'].map((id) => ({ model: counted(id) }))
    const { stopped } = await run(cases(100), { models, budget })
    expect(budget.total.tokens).toBeLessThanOrEqual(8_000)
    expect([...stopped.values()].map(({ message }) => message)).toEqual(
      new Array(2).fill(expect.stringContaining('8000 tokens')),
    )
  })

  test('a free model continues when the budget is used up', async () => {
    const models = [
      { model: counted('scripted:paid'), prices },
      { model: counted('scripted:free'), prices: { input: 0, output: 0 } },
    ]
    const { stopped, trials } = await run(cases(50), { models, budget: new SuiteBudget({ cost: 0.03 }) })
    expect([...stopped.keys()]).toEqual(['scripted:paid'])
    expect([...trials.values()].filter(({ model }) => model.model.id === 'scripted:free')).toHaveLength(50)
  })

  test('each trial reports its usage', async () => {
    const { made } = await run(cases(2), { models: [{ model: counted('scripted:paid'), prices }] })
    expect(made.map(({ tokens, cost }) => [tokens, cost])).toEqual(new Array(2).fill([110, 0.0011]))
    expect(made[0]?.usage).toEqual(usage)
  })

  test('missing usage counts as the upper bound', async () => {
    const budget = new SuiteBudget({ cost: 1, tokens: 100_000 })
    await run(cases(1), { budget })
    expect(budget.total.tokens).toBeGreaterThan(100)
  })

  test('a request that is refused or never answered costs nothing', async () => {
    const budget = new SuiteBudget({ cost: 1 })
    const model = answering('scripted:dead', () => new ModelError('no'))
    await run(cases(2), { models: [{ model, prices }], budget })
    expect(budget.total).toEqual({ tokens: 0, cost: 0 })
  })
})

describe('an earlier run', () => {
  test('judged trials are reused, unanswered ones are repeated', async () => {
    const before = await run(cases(3), {
      models: [
        { model: answering('scripted:a', (_, asked) => (asked === 2 ? new ModelError('busy') : weather('Paris'))) },
      ],
      concurrency: 1,
    })
    const model = answering('scripted:a', () => weather('Paris'))
    const { made, trials } = await run(cases(3), { models: [{ model }], earlier: before.trials })
    expect(made.map((trial) => trial.case.id)).toEqual(['case 2'])
    expect([trials.size, model.asked]).toEqual([3, 1])
  })
})
