import { describe, expect, test } from 'vitest'
import { BudgetReachedError, SuiteBudget } from './suite-budget.ts'

/** One cent per thousand tokens. */
const prices = { input: 10, output: 10 }
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('a shared budget', () => {
  test('reserves the upper bound of requests in flight, and makes others wait for them', async () => {
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

  test('rejects if no request is in flight', async () => {
    const budget = new SuiteBudget({ cost: 0.03 })
    const first = await budget.hold(prices, 1_000, 1_000)
    const second = budget.hold(prices, 1_000, 1_000)
    first({ tokens: 2_000, cost: 0.02 })
    await expect(second).rejects.toThrow(BudgetReachedError)
    await expect(second).rejects.toThrow("The budget of 0.03 USD doesn't allow another request.")
  })

  test('limits models without prices by tokens, and others by cost unless a token limit is set', async () => {
    const unpriced = new SuiteBudget({ cost: 0 })
    await expect(unpriced.hold(undefined, 1_999_000, 1_001)).rejects.toThrow('2000000 tokens')
    await expect(unpriced.hold(undefined, 1_999_000, 1_000)).resolves.toBeTypeOf('function')
    await expect(new SuiteBudget({ cost: 1_000 }).hold(prices, 3_000_000, 0)).resolves.toBeTypeOf('function')
    await expect(new SuiteBudget({ cost: 1, tokens: 10 }).hold(prices, 10, 1)).rejects.toThrow('10 tokens')
  })

  test('allows free models with a budget of 0', async () => {
    const budget = new SuiteBudget({ cost: 0 })
    await expect(budget.hold({ input: 0, output: 0 }, 1_000, 1_000)).resolves.toBeTypeOf('function')
  })
})
