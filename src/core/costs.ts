import type { Described } from './json/described.ts'

export const COST_RULE_SCHEMA = {
  type: 'object',
  description: 'What a call costs, in units of costs.currency. Without it, the cost is unknown.',
  minProperties: 1,
  additionalProperties: false,
  properties: {
    per_call: { type: 'number', minimum: 0, maximum: 1_000_000, description: 'For each call that runs.' },
    from_result: {
      type: 'string',
      minLength: 1,
      maxLength: 1_000,
      description: 'A JSONPath that finds the cost in the result, such as "$.usage.cost". Added to per_call.',
    },
  },
} as const

/** What calls of a tool cost, in units of `costs.currency`. */
export interface CostRule extends Described<typeof COST_RULE_SCHEMA> {}

/** Costs are counted in millionths of the currency, so that sums are exact. */
export const toMicros = (amount: number): number => Math.round(amount * 1e6)
export const inUnits = (micros: number): number => micros / 1e6

export const BUDGET_SCOPES = ['tenant', 'key', 'tool', 'model'] as const
export type BudgetScope = (typeof BUDGET_SCOPES)[number]
export const BUDGET_PERIODS = ['day', 'month'] as const
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

/** What may be spent in a day or month. */
export const BUDGET_PROPERTIES = {
  per: { enum: BUDGET_PERIODS, description: 'A day or a month of UTC.' },
  amount: { type: 'number', minimum: 0, maximum: 1_000_000_000, description: 'In units of costs.currency.' },
  action: {
    enum: ['warn', 'refuse'],
    description: 'What happens when it is spent: warn runs calls with a warning. Default: refuse.',
  },
} as const

export const BUDGET_SCHEMA = {
  type: 'object',
  required: ['scope', 'per', 'amount'],
  additionalProperties: false,
  properties: {
    scope: { enum: BUDGET_SCOPES, description: 'What is counted: tools, models and keys within each tenant.' },
    match: {
      type: 'string',
      minLength: 1,
      maxLength: 200,
      description: 'A pattern of names, in which * stands for any characters. Default: all.',
    },
    ...BUDGET_PROPERTIES,
  },
} as const

/** An entry of `budgets`. */
export interface BudgetConfig extends Described<typeof BUDGET_SCHEMA> {}

/** What was spent by a tenant, a key, a tool or a model of a tenant, in one day or month of UTC. */
export interface Counter {
  readonly tenant: string
  readonly scope: BudgetScope
  /** The name of the tenant, tool or model, or the id of the key. */
  readonly name: string
  readonly per: BudgetPeriod
  /** The start of the day or month, in milliseconds since 1970. */
  readonly start: number
}

/** What a call or a turn has set aside until its cost is stored. */
export interface Hold {
  readonly id: string
  readonly micros: number
}

/** Who spends, and for which tool or model. */
export interface Spender {
  readonly tenant: string
  readonly keyId?: string | undefined
  readonly tool?: string
  readonly model?: string
}

/** An exceeded budget, as the envelope shows it. */
export interface SpentBudget {
  readonly scope: BudgetScope
  readonly name: string
  readonly per: BudgetPeriod
  readonly amount: number
  readonly spent: number
  readonly currency: string
  /** When it resets. */
  readonly resets_at: string
}

/** The answer of the budgets to a call or a turn that may start. */
export interface Taken {
  readonly hold: Hold | undefined
  readonly warnings: readonly string[]
}

/** The budgets of an installation. */
export interface Budgets {
  /**
   * Sets aside what a call or turn may cost; undefined if no budget applies. Rejects with `RATE_LIMITED` if a budget is
   * spent. Without `expected`, the last cost of the same tool or model is set aside, and no less than `least`.
   */
  take(spender: Spender, expected?: number, least?: number): Promise<Taken> | undefined
  /** Counts the turn of a model. If its cost is undefined it is unknown, and `estimate` is spent. */
  turn(
    spender: Spender & { readonly model: string },
    cost: number | undefined,
    hold: Hold | undefined,
    estimate?: number,
  ): void
}

/** The start of the day or month of UTC that has this time, and of the next one. */
export function periodOf(per: BudgetPeriod, at: number): { readonly start: number; readonly end: number } {
  const date = new Date(at)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), per === 'day' ? date.getUTCDate() : 1]
  return {
    start: Date.UTC(year, month, day),
    end: Date.UTC(year, month + (per === 'day' ? 0 : 1), day + (per === 'day' ? 1 : 0)),
  }
}

/** Compiles a JSONPath. Throws if it isn't one. */
export type CompilePath = (path: string) => { find(value: unknown): unknown }
