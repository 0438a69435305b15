import type { BudgetScope, Counter } from '../costs.ts'

/** What a call or turn asks for before it starts. Amounts are in millionths of the currency. */
export interface HoldRequest {
  /** Unique: the call or turn gives back what it has set aside by this id. */
  readonly id: string
  /** `amount` is what may be spent; without `refuses` it is only compared. */
  readonly counters: readonly (Counter & { readonly amount: number; readonly refuses: boolean })[]
  /** What the call or turn may cost. */
  readonly micros: number
}

/** What is spent and set aside of each counter of a request, and the first that refuses it. */
export interface HoldAnswer {
  readonly spent: readonly number[]
  readonly refusedBy?: number | undefined
}

/** Figures in millionths of the currency. */
export interface SpendingSums {
  readonly spent: number
  readonly calls: number
  /** Calls and turns whose cost is unknown. */
  readonly unknown: number
}

export interface SpendingQuery {
  /** Undefined: all tenants. */
  readonly tenant: string | undefined
  readonly by: BudgetScope | 'run'
  /** Starts of days of UTC, in milliseconds since 1970; `to` is exclusive. */
  readonly from: number
  readonly to: number
  /** At most this many names, the most expensive first. */
  readonly limit: number
}

export interface SpendingReport {
  readonly total: SpendingSums
  readonly names: readonly (SpendingSums & { readonly name: string })[]
  /** Days without calls are left out. */
  readonly days: readonly (SpendingSums & { readonly start: number })[]
}

/** What was spent, by day and month. The ledger adds to it. */
export interface SpendingStore {
  /**
   * Sets aside what each request may cost, in order, unless one of its counters is spent. Atomic across servers. Gives back
   * `released` first: ids of requests whose answer was lost.
   */
  hold(requests: readonly HoldRequest[], released?: readonly string[]): Promise<readonly HoldAnswer[]>
  report(query: SpendingQuery): Promise<SpendingReport>
}
