import { costOf } from '../../models/catalogue/cost-of.ts'
import type { ModelPrices } from '../../models/catalogue/model-info.ts'
import type { Spent } from './trial.ts'

/** What all trials together may use up. */
export interface BudgetLimits {
  /** In the currency of the prices: USD. */
  readonly cost: number
  /** Of all models. Without it only those without prices are held to `DEFAULT_UNPRICED_TOKENS`. */
  readonly tokens?: number
}

export const DEFAULT_BUDGET: BudgetLimits = { cost: 1 }
/** Where money cannot be counted, tokens are. */
export const DEFAULT_UNPRICED_TOKENS = 2_000_000

/** The next question might use up more than is left. */
export class BudgetReachedError extends Error {
  constructor(limit: string) {
    super(`The budget of ${limit} is used up, but for what the next question might cost.`)
    this.name = 'BudgetReachedError'
  }
}

interface Amount {
  tokens: number
  cost: number
}

/** Counts what is spent, and lets no question be asked that could exceed what is left, also with many at a time. */
export class SuiteBudget {
  readonly #limits: BudgetLimits
  readonly #tokenLimit: number
  readonly #spent: Amount = { tokens: 0, cost: 0 }
  /** What the questions that are being answered may come to. */
  readonly #held: Amount = { tokens: 0, cost: 0 }
  #holders = 0
  #waiting: (() => void)[] = []

  constructor(limits: BudgetLimits = DEFAULT_BUDGET) {
    this.#limits = limits
    this.#tokenLimit = limits.tokens ?? DEFAULT_UNPRICED_TOKENS
  }

  /** All that was spent so far, of models with a price and without. */
  readonly total: { tokens: number; cost: number } = { tokens: 0, cost: 0 }

  /**
   * Keeps back what a question may cost at most; gives the way to say what it did cost. Where that is not to be had,
   * but might be once others have been answered, it waits for them. Rejects with a `BudgetReachedError`.
   */
  async hold(prices: ModelPrices | undefined, prompt: number, completion: number): Promise<(used: Spent) => void> {
    const counted = this.#limits.tokens !== undefined || prices === undefined
    const most: Amount = {
      tokens: counted ? prompt + completion : 0,
      cost: costOf(prices, prompt, completion) ?? 0,
    }
    for (let limit = this.#missing(most); limit !== undefined; limit = this.#missing(most)) {
      if (this.#holders === 0) throw new BudgetReachedError(limit)
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

  /** The limit that stands in the way, as words; none where there is enough. */
  #missing({ tokens, cost }: Amount): string | undefined {
    const { cost: most } = this.#limits
    if (cost > 0 && this.#spent.cost + this.#held.cost + cost > most) return `${most} USD`
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
