import { describe, expect, test } from 'vitest'
import { BudgetReachedError, SuiteBudget } from './suite-budget.ts'

/** A cent for each thousand tokens. */
const prices = { input: 10, output: 10 }
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('a budget that many draw on', () => {
  test('what may be spent by those that are being answered is kept back: who finds too little waits for them', async () => {
    const budget = new SuiteBudget({ cost: 0.03 })
    const first = await budget.hold(prices, 1_000, 1_000)
    let held = false
    const second = budget.hold(prices, 1_000, 1_000).then((settle) => {
      held = true
      return settle
    })
    await settled()
    expect(held).toBe(false)
    first({ tokens: 100, cost: 0.001 })
    const settle = await second
    settle({ tokens: 2_000, cost: 0.02 })
    expect(budget.total.cost).toBeCloseTo(0.021)
  })

  test('and is told that it is used up where nobody is left to wait for', async () => {
    const budget = new SuiteBudget({ cost: 0.03 })
    const first = await budget.hold(prices, 1_000, 1_000)
    const second = budget.hold(prices, 1_000, 1_000)
    first({ tokens: 2_000, cost: 0.02 })
    await expect(second).rejects.toThrow(BudgetReachedError)
    await expect(second).rejects.toThrow(
      'The budget of 0.03 USD is used up, but for what the next question might cost.',
    )
  })

  test('models without a price are held to tokens, those with one to money, unless tokens were given', async () => {
    const unpriced = new SuiteBudget({ cost: 0 })
    await expect(unpriced.hold(undefined, 1_999_000, 1_001)).rejects.toThrow('2000000 tokens')
    await expect(unpriced.hold(undefined, 1_999_000, 1_000)).resolves.toBeTypeOf('function')
    await expect(new SuiteBudget({ cost: 1_000 }).hold(prices, 3_000_000, 0)).resolves.toBeTypeOf('function')
    await expect(new SuiteBudget({ cost: 1, tokens: 10 }).hold(prices, 10, 1)).rejects.toThrow('10 tokens')
  })

  test('nothing at all still lets a model be asked that costs nothing', async () => {
    const budget = new SuiteBudget({ cost: 0 })
    await expect(budget.hold({ input: 0, output: 0 }, 1_000, 1_000)).resolves.toBeTypeOf('function')
  })
})
