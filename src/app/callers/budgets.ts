import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../core/clock.ts'
import {
  BUDGET_PERIODS,
  BUDGET_SCOPES,
  type BudgetConfig,
  type BudgetScope,
  type Budgets as BudgetsPort,
  type Counter,
  inUnits,
  periodOf,
  type Spender,
  type SpentBudget,
  type Taken,
  toMicros,
} from '../../core/costs.ts'
import { matchesGlobs } from '../../core/execution/permit.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { CallBatch, RecordSink } from '../../core/records/recorder.ts'
import type { TurnEntry } from '../../core/storage/ledger.ts'
import type { HoldAnswer, HoldRequest, SpendingStore } from '../../core/storage/spending-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { Callers } from './callers.ts'

export const DEFAULT_CURRENCY = 'USD'
/** More requests wait for the next transaction. */
const MAX_REQUESTS = 500
const GIVE_BACK_AFTER_MS = 1_000
/** More requests than a server has in flight. */
const MAX_LOST = 10_000
/** The last costs of this many tools and models are known. `max` would reserve memory for all at the start. */
const KNOWN_COSTS = 10_000

/** Of more names, those that have spent most are shown. */
const MAX_STATES = 100
const SPENDERS = { tenant: 'tenant', key: 'keyId', tool: 'tool', model: 'model' } as const

interface BudgetParts {
  readonly store: SpendingStore
  readonly callers: Pick<Callers, 'nameOf' | 'budgetOf'>
  readonly clock: Clock
  readonly log: Log
  /** Stores the cost of a turn. */
  readonly onTurn: (turn: Omit<TurnEntry, 'turn'>) => void
}

interface Waiting {
  readonly request: Omit<HoldRequest, 'id'>
  readonly resolve: (answer: HoldAnswer & Pick<HoldRequest, 'id'>) => void
  readonly reject: (error: unknown) => void
}

/** A budget, and what is spent of it in its period now. */
export interface BudgetState extends SpentBudget {
  readonly tenant: string
  readonly action: NonNullable<BudgetConfig['action']>
}

/** A budget that applies to a call, and what it has counted since its period began. */
type Applied = HoldRequest['counters'][number]

/** The budgets of the configuration and of keys. Each is counted in the store, for all servers together. */
export class Budgets implements BudgetsPort, RecordSink {
  readonly #parts: BudgetParts
  readonly #lastCosts = new LRUCache<string, number>({ maxSize: KNOWN_COSTS, sizeCalculation: () => 1 })
  readonly #warned = new LRUCache<string, true>({ maxSize: KNOWN_COSTS, sizeCalculation: () => 1 })
  #budgets: readonly BudgetConfig[] = []
  #currency = DEFAULT_CURRENCY
  #waiting: Waiting[] = []
  #asking = false
  /** Requests whose answer was lost: the store may have set something aside for them. */
  readonly #lost = new Set<string>()
  #cancel: (() => void) | undefined
  #closed = false
  /** How often budgets have refused and warned, for the metrics of this server. */
  refusals = 0
  warnings = 0

  constructor(parts: BudgetParts) {
    this.#parts = parts
  }

  get currency(): string {
    return this.#currency
  }

  configure({ budgets = [], costs }: Config): void {
    this.#budgets = budgets
    this.#currency = costs?.currency ?? DEFAULT_CURRENCY
  }

  /** The budget that refuses calls of a key, if there is one. */
  ofKey(id: string): Pick<BudgetConfig, 'per' | 'amount'> | undefined {
    const names = [id, this.#parts.callers.nameOf(id)]
    const own = this.#parts.callers.budgetOf(id)
    if (own !== undefined && own.action !== 'warn') return own
    return this.#budgets.find(
      ({ scope, match = '*', action }) =>
        scope === 'key' && action !== 'warn' && names.some((name) => matchesGlobs([match], name)),
    )
  }

  /**
   * What is spent of the budgets of a tenant. One for several names has a row for each that has spent something. Without a
   * tenant, only the budgets of whole tenants.
   */
  async states(tenant: string | undefined): Promise<BudgetState[]> {
    const states: BudgetState[] = []
    for (const scope of tenant === undefined ? (['tenant'] as const) : BUDGET_SCOPES) {
      for (const per of BUDGET_PERIODS) {
        const own = this.#budgets.filter((budget) => budget.scope === scope && budget.per === per)
        // Keys may have budgets of their own.
        if (own.length === 0 && scope !== 'key') continue
        for (const [name, spent] of await this.#spentBy(scope, per, tenant, own)) {
          const spender = { tenant: tenant ?? name, [SPENDERS[scope]]: name }
          for (const counter of this.#counters(spender)) {
            if (counter.scope !== scope || counter.per !== per) continue
            const action = counter.refuses ? 'refuse' : 'warn'
            states.push({ tenant: spender.tenant, action, ...this.#shown(counter, spent) })
          }
        }
      }
    }
    return states
  }

  /** The names that have spent something, and those that budgets name, with what they have spent in millionths. */
  async #spentBy(
    scope: BudgetScope,
    per: BudgetConfig['per'],
    tenant: string | undefined,
    budgets: readonly BudgetConfig[],
  ): Promise<Map<string, number>> {
    const { store, clock } = this.#parts
    const { start: from, end: to } = periodOf(per, clock.wall())
    const { names } = await store.report({ tenant, by: scope, from, to, limit: MAX_STATES })
    const spent = new Map(names.map((one) => [one.name, one.spent]))
    if (scope === 'tenant' && tenant !== undefined && !spent.has(tenant)) spent.set(tenant, 0)
    // A key may be named by its name, and only its id is known here.
    if (scope !== 'tool' && scope !== 'model') return spent
    for (const { match = '*' } of budgets) if (!match.includes('*') && !spent.has(match)) spent.set(match, 0)
    return spent
  }

  take(spender: Spender, expected?: number, least = 0): Promise<Taken> | undefined {
    const counters = this.#counters(spender)
    if (counters.length === 0) return undefined
    const last = this.#lastCosts.get(costKey(spender)) ?? this.#lastCosts.get(costKey({ ...spender, tenant: '' }))
    return this.#take(counters, expected ?? Math.max(last ?? 0, least))
  }

  turn(...[spender, cost, hold, estimate]: Parameters<BudgetsPort['turn']>): void {
    const likely = cost ?? estimate
    if (likely !== undefined) this.#lastCosts.set(costKey(spender), likely)
    const { tenant, keyId, model } = spender
    const entry = { tenant, model, keyId: keyId ?? null, cost: cost ?? null, ...(hold !== undefined && { hold }) }
    this.#parts.onTurn({ at: this.#parts.clock.wall(), ...entry, ...(estimate !== undefined && { estimate }) })
  }

  /** Learns what calls cost whose price only their result says. */
  write({ records }: CallBatch): void {
    for (const { tool, tenant, cost } of records) {
      if (cost === undefined || cost === 0) continue
      this.#lastCosts.set(costKey({ tenant, tool }), cost)
      // For tenants that have no cost of their own yet, such as those whose calls all fail.
      this.#lastCosts.set(costKey({ tenant: '', tool }), cost)
    }
  }

  async #take(counters: readonly Applied[], micros: number): Promise<Taken> {
    let answer: HoldAnswer & Pick<HoldRequest, 'id'>
    try {
      answer = await new Promise((resolve, reject) => {
        this.#waiting.push({ request: { counters, micros }, resolve, reject })
        void this.#askAll()
      })
    } catch (error) {
      if (!counters.some(({ refuses }) => refuses)) return { hold: undefined, warnings: [] }
      const message = 'Budgets can not be checked: the store does not respond. Try again later'
      throw new ToolExecutionError('SERVICE_UNAVAILABLE', message, {}, { cause: error })
    }
    const refusing = answer.refusedBy === undefined ? undefined : counters[answer.refusedBy]
    if (refusing !== undefined) throw this.#refusal(refusing, answer.spent[answer.refusedBy ?? 0] ?? 0)
    const warnings = counters.flatMap((counter, index) => this.#warning(counter, answer.spent[index] ?? 0))
    return { hold: micros === 0 ? undefined : { id: answer.id, micros }, warnings }
  }

  /** One transaction at a time: requests that come meanwhile share the next one. */
  async #askAll(): Promise<void> {
    if (this.#asking) return
    this.#asking = true
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting.splice(0, MAX_REQUESTS)
      // One request that fails must not refuse those of other tenants.
      if (!(await this.#ask(waiting))) await Promise.all(waiting.map((one) => this.#ask([one])))
    }
    this.#asking = false
    this.#cancel?.()
    // Other servers must not wait for the next request of this one.
    if (this.#lost.size > 0 && !this.#closed)
      this.#cancel = this.#parts.clock.after(GIVE_BACK_AFTER_MS, () => void this.#giveBack())
  }

  async #giveBack(): Promise<void> {
    if (this.#asking) return
    this.#asking = true
    await this.#ask([])
    this.#asking = false
    if (!this.#closed) await this.#askAll()
  }

  /** What this server has set aside counts no more when it has ended. */
  close(): void {
    this.#closed = true
    this.#cancel?.()
  }

  /** Whether the requests were answered. A request alone is also answered by an error. */
  async #ask(waiting: readonly Waiting[]): Promise<boolean> {
    const requests = waiting.map(({ request }) => ({ ...request, id: randomUUID() }))
    const lost = [...this.#lost].slice(0, MAX_REQUESTS)
    try {
      const answers = await this.#parts.store.hold(requests, lost)
      for (const id of lost) this.#lost.delete(id)
      for (const [index, { resolve }] of waiting.entries()) {
        resolve({ ...(answers[index] as HoldAnswer), id: requests[index]?.id as string })
      }
      return true
    } catch (error) {
      for (const { id } of requests) if (this.#lost.size < MAX_LOST) this.#lost.add(id)
      const [only, next] = waiting
      if (next === undefined) only?.reject(error)
      return next === undefined
    }
  }

  /** The budgets that apply, those that refuse first. */
  #counters({ tenant, keyId, tool, model }: Spender): Applied[] {
    const { callers, clock } = this.#parts
    const names: Readonly<Record<BudgetScope, string | undefined>> = { tenant, key: keyId, tool, model }
    const at = clock.wall()
    const own = keyId === undefined ? undefined : callers.budgetOf(keyId)
    const all: BudgetConfig[] = own === undefined ? [] : [{ scope: 'key', match: keyId, ...own } as BudgetConfig]
    const counters: Applied[] = []
    for (const { scope, match = '*', per, amount, action = 'refuse' } of [...this.#budgets, ...all]) {
      const name = names[scope]
      if (name === undefined) continue
      const known = scope === 'key' ? [name, callers.nameOf(name)] : [name]
      if (!known.some((one) => matchesGlobs([match], one))) continue
      const { start } = periodOf(per, at)
      counters.push({ tenant, scope, name, per, start, amount: toMicros(amount), refuses: action === 'refuse' })
    }
    return counters
  }

  #refusal(counter: Applied, spent: number): ToolExecutionError {
    this.refusals++
    const budget = this.#shown(counter, spent)
    const wait = Math.max(1, Date.parse(budget.resets_at) - this.#parts.clock.wall())
    const message = `${this.#sentence(counter, spent)}. It resets at ${budget.resets_at}`
    return new ToolExecutionError('RATE_LIMITED', message, { details: { budget, retry_after_ms: wait } })
  }

  /** Logged once per budget and period. */
  #warning(counter: Applied, spent: number): readonly string[] {
    if (counter.refuses || spent < counter.amount) return []
    this.warnings++
    const sentence = this.#sentence(counter, spent)
    const once = JSON.stringify(counter)
    if (!this.#warned.has(once)) {
      this.#warned.set(once, true)
      writeLog(this.#parts.log, 'warn', { budget: this.#shown(counter, spent) }, sentence)
    }
    return [sentence]
  }

  #sentence({ scope, name, per, amount }: Applied, spent: number): string {
    const who = `${scope} '${this.#nameOf({ scope, name })}'`
    const most = `${inUnits(amount)} ${this.#currency} a ${per}`
    return `The budget of ${who}, ${most}, is spent: ${inUnits(spent)} ${this.#currency} so far`
  }

  #shown({ scope, name, per, amount, start }: Applied, spent: number): SpentBudget {
    const resets_at = new Date(periodOf(per, start).end).toISOString()
    const figures = { amount: inUnits(amount), spent: inUnits(spent), currency: this.#currency, resets_at }
    return { scope, name: this.#nameOf({ scope, name }), per, ...figures }
  }

  #nameOf({ scope, name }: Pick<Counter, 'scope' | 'name'>): string {
    return scope === 'key' ? this.#parts.callers.nameOf(name) : name
  }
}

/** Tools of different tenants may cost differently. */
const costKey = ({ tenant, tool, model }: Spender): string => JSON.stringify([tenant, tool ?? null, model ?? null])
