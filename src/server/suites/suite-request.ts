import type { BudgetLimits } from '../../validation/running/suite-budget.ts'

/** What somebody wants to find out: which models, by which suites, at what cost. */
export interface SuiteRequest {
  /** `provider:model` each. */
  readonly models: readonly string[]
  /** As `GET /api/suites` names them. */
  readonly suites: readonly string[]
  /** How often each case is put. */
  readonly repeat?: number
  /** Only the first cases of each suite. */
  readonly limit?: number
  /** In USD, of all models together. */
  readonly budget?: number
  readonly budget_tokens?: number
  /** Makes all trials anew, also those that a run of the same made before. */
  readonly fresh?: boolean
}

const DEFAULT_USD = 1

/** What the trials may use up. */
export const limitsOf = ({ budget = DEFAULT_USD, budget_tokens }: SuiteRequest): BudgetLimits => ({
  cost: budget,
  ...(budget_tokens !== undefined && { tokens: budget_tokens }),
})
