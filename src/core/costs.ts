import type { ToolDefinition } from './tool.ts'
import { ToolExecutionError } from './tool-result.ts'

/** What calls of a tool cost, in units of `costs.currency`. */
export interface CostRule {
  readonly per_call?: number
  /** A JSONPath that finds the cost in the result. It is added to `per_call`. */
  readonly from_result?: string
}

/** Costs are counted in millionths of the currency, so that sums are exact. */
export const toMicros = (amount: number): number => Math.round(amount * 1e6)
export const inUnits = (micros: number): number => micros / 1e6

export const BUDGET_SCOPES = ['tenant', 'key', 'tool', 'model'] as const
export type BudgetScope = (typeof BUDGET_SCOPES)[number]
export const BUDGET_PERIODS = ['day', 'month'] as const
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

/** An entry of `budgets`. */
export interface BudgetConfig {
  readonly scope: BudgetScope
  /** A pattern of names: `*` stands for any characters. A key matches by its name or id. Default: all. */
  readonly match?: string
  readonly per: BudgetPeriod
  readonly amount: number
  /** Default: `refuse`. */
  readonly action?: 'warn' | 'refuse'
}

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
  readonly micros: number
  readonly counters: readonly Counter[]
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
  /** When it starts anew. */
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
   * spent. Without `expected`, the last cost of the same tool or model is set aside.
   */
  take(spender: Spender, expected?: number): Promise<Taken> | undefined
  /** Counts the turn of a model. A cost that is undefined is unknown. */
  turn(spender: Spender & { readonly model: string }, cost: number | undefined, hold: Hold | undefined): void
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

const MAX_PER_CALL = 1_000_000

/** The cost of a tool's calls. */
export class ToolCost {
  /** In millionths. */
  readonly perCall: number
  readonly #fromResult: boolean
  /** Undefined in executors without JSONPath: what a result says is unknown there. */
  readonly #path: ReturnType<CompilePath> | undefined

  constructor({ per_call = 0, from_result }: CostRule, compile: CompilePath | undefined) {
    this.perCall = toMicros(per_call)
    this.#fromResult = from_result !== undefined
    this.#path = from_result === undefined ? undefined : compile?.(from_result)
  }

  /** Undefined if only the result of a call says what it costs. */
  get expected(): number | undefined {
    return this.#fromResult ? undefined : this.perCall
  }

  /** The cost of a call in millionths; undefined if it is unknown. */
  of({ attempts, code }: { readonly attempts: number; readonly code: unknown }, result: unknown): number | undefined {
    // Refused calls and cached results cost nothing.
    if (attempts === 0) return 0
    if (!this.#fromResult) return this.perCall
    if (code !== undefined || this.#path === undefined) return undefined
    let found: unknown
    try {
      found = this.#path.find(result)
    } catch {
      // The path takes too many steps over this result.
      return undefined
    }
    // A path may find several costs.
    let micros = this.perCall
    for (const one of Array.isArray(found) ? found : [found]) {
      if (typeof one !== 'number' || !(one >= 0)) return undefined
      micros += toMicros(one)
    }
    return Number.isSafeInteger(micros) ? micros : undefined
  }
}

/** Undefined if the definition names no cost. Throws if it is invalid: a wrong price would silently count. */
export function bindCost(tool: ToolDefinition, compile?: CompilePath): ToolCost | undefined {
  const rule: unknown = tool.cost
  if (rule === undefined || rule === null) return undefined
  const fail = (problem: string): never => {
    throw new ToolExecutionError('EXECUTION_ERROR', `Tool '${tool.name}' has an invalid cost: ${problem}`)
  }
  if (typeof rule !== 'object' || Object.keys(rule).length === 0) return fail('it must be {per_call?, from_result?}')
  const unknown = Object.keys(rule).find((key) => key !== 'per_call' && key !== 'from_result')
  if (unknown !== undefined) fail(`unknown key '${unknown}', known are per_call, from_result`)
  const { per_call, from_result } = rule as { per_call?: unknown; from_result?: unknown }
  if (per_call !== undefined) {
    const isNumber = typeof per_call === 'number' && per_call >= 0 && per_call <= MAX_PER_CALL
    if (!isNumber) fail(`per_call must be a number from 0 to ${MAX_PER_CALL}, not ${String(per_call)}`)
    const isExact = inUnits(toMicros(per_call as number)) === per_call
    if (!isExact) fail(`per_call ${String(per_call)} has more than 6 decimals, which can't be counted exactly`)
  }
  if (from_result !== undefined && (typeof from_result !== 'string' || !from_result.startsWith('$'))) {
    fail(`from_result must be a JSONPath such as "$.cost", not ${JSON.stringify(from_result)}`)
  }
  try {
    return new ToolCost(rule as CostRule, compile)
  } catch (error) {
    return fail(`from_result ${(error as Error).message}`)
  }
}
