import { costOf, type ModelPrices } from '../../models/model-info.ts'
import type { Spent } from './trial.ts'

export interface BudgetLimits {
  /** In units of the currency. */
  readonly cost: number
  /** `costs.currency`. Default: USD. */
  readonly currency?: string | undefined
  /** For all models; by default only models without prices are limited, to `DEFAULT_UNPRICED_TOKENS`. */
  readonly tokens?: number | undefined
}

export const DEFAULT_BUDGET: BudgetLimits = { cost: 1 }
export const DEFAULT_UNPRICED_TOKENS = 2_000_000

export class BudgetReachedError extends Error {
  override readonly name = 'BudgetReachedError'
}

interface Amount {
  tokens: number
  cost: number
}

/** Counts what is spent, and refuses requests that could exceed the budget, also when many run concurrently. */
export class SuiteBudget {
  readonly #limits: BudgetLimits
  readonly #tokenLimit: number
  readonly #spent: Amount = { tokens: 0, cost: 0 }
  /** Upper bound for the requests in flight. */
  readonly #held: Amount = { tokens: 0, cost: 0 }
  #holders = 0
  #waiting: (() => void)[] = []

  constructor(limits: BudgetLimits = DEFAULT_BUDGET) {
    this.#limits = limits
    this.#tokenLimit = limits.tokens ?? DEFAULT_UNPRICED_TOKENS
  }

  /** The total so far, for models with and without prices. */
  readonly total: { tokens: number; cost: number } = { tokens: 0, cost: 0 }

  /**
   * Reserves the upper bound of a request, and returns a function that settles it with the actual cost. Waits for
   * requests in flight if they might free enough budget. Rejects with a `BudgetReachedError`.
   */
  async hold(prices: ModelPrices | undefined, prompt: number, completion: number): Promise<(used: Spent) => void> {
    const counted = this.#limits.tokens !== undefined || prices === undefined
    const most: Amount = {
      tokens: counted ? prompt + completion : 0,
      cost: costOf(prices, prompt, completion) ?? 0,
    }
    for (let limit = this.#exceeded(most); limit !== undefined; limit = this.#exceeded(most)) {
      if (this.#holders === 0) throw new BudgetReachedError(`The budget of ${limit} doesn't allow another request.`)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    this.#holders++
    add(this.#held, most)
    return ({ tokens, cost = 0 }) => {
      this.#holders--
      add(this.#held, { tokens: -most.tokens, cost: -most.cost })
      add(this.#spent, { tokens: counted ? tokens : 0, cost })
      add(this.total, { tokens, cost })
      const waiting = this.#waiting
      this.#waiting = []
      for (const wake of waiting) wake()
    }
  }

  /** The limit that would be exceeded, in words; undefined if there is enough budget. */
  #exceeded({ tokens, cost }: Amount): string | undefined {
    const { cost: most, currency = 'USD' } = this.#limits
    if (cost > 0 && this.#spent.cost + this.#held.cost + cost > most) return `${most} ${currency}`
    if (tokens > 0 && this.#spent.tokens + this.#held.tokens + tokens > this.#tokenLimit) {
      return `${this.#tokenLimit} tokens`
    }
    return undefined
  }
}

function add(to: Amount, { tokens, cost }: Amount): void {
  to.tokens += tokens
  to.cost += cost
}
