import { type Budgets, type Hold, inUnits, toMicros } from '../core/costs.ts'
import { LOCAL_TENANT } from '../core/execution/call.ts'
import { asToolError } from '../core/failure.ts'
import type { Message, OfferedTool } from '../models/model.ts'
import { turnCost } from '../models/model-info.ts'
import type { RunAnswer, RunRequest, TrackedCall } from './run.ts'
import { estimateOf } from './run-budget.ts'
import type { Ending } from './run-output.ts'
import type { TurnReader } from './turn-reader.ts'

type Charged = Pick<TurnReader, 'usage' | 'failure' | 'text' | 'calls'>

/** What the turns of a run cost: for its answer, and against the budgets of the installation. */
export class RunCosts {
  budgets: Budgets | undefined = undefined
  /** Such as that a budget is spent. */
  warnings: readonly string[] = []
  readonly #request: RunRequest
  readonly #messages: readonly Message[]
  /** What budgets have set aside for the current turn. */
  #hold: Hold | undefined = undefined
  /** Whether a budget applies to the current turn. */
  #isLimited = false
  /** The turn whose cost is not counted yet, and the tools that it offers. Stored turns were counted before. */
  #asked: { readonly turn: TurnReader; readonly tools: readonly OfferedTool[] } | undefined = undefined
  /** The cost of all turns in millionths, and how many have an unknown one. */
  #turns = { known: 0, micros: 0, unknown: 0 }

  constructor(request: RunRequest, messages: readonly Message[]) {
    this.#request = request
    this.#messages = messages
  }

  /** Ends the run if a budget is spent, before the model is asked. A run that has begun ends with what it has. */
  async take(hasBegun: boolean): Promise<Ending | undefined> {
    try {
      const taken = await this.budgets?.take(this.#spender)
      this.#hold = taken?.hold
      this.#isLimited = taken !== undefined
      if (taken !== undefined) this.warnings = [...new Set([...this.warnings, ...taken.warnings])]
      return undefined
    } catch (thrown) {
      const { message, code, extras } = asToolError(thrown, this.#request.model.id)
      const wait = extras.details?.retry_after_ms
      const provider = {
        error_status: code === 'RATE_LIMITED' ? (429 as const) : (503 as const),
        ...(wait !== undefined && { retry_after_ms: wait }),
      }
      const budget = extras.details?.budget
      if (hasBegun && budget !== undefined) {
        const { scope, name, amount, currency, per } = budget
        return { reason: 'budget', limit: `the budget of ${scope} '${name}', ${amount} ${currency} a ${per},` }
      }
      return { reason: 'error', error: message, provider }
    }
  }

  /** A stored turn offers no tools, and costs nothing. */
  begin(turn: TurnReader, tools: readonly OfferedTool[] | undefined): void {
    this.#asked = tools && { turn, tools }
  }

  /** Counts what a turn cost. `isCut`: the run was interrupted. */
  charge(turn: Charged, isCut: boolean): void {
    const { usage, failure } = turn
    const cost = turnCost(this.#request.prices, usage)
    const estimate = cost === undefined ? this.#estimate(turn, isCut) : undefined
    if (cost === undefined) this.#turns.unknown++
    else {
      this.#turns.known++
      this.#turns.micros += cost
    }
    const [hold, isStored] = [this.#hold, this.#asked === undefined]
    this.#hold = undefined
    this.#asked = undefined
    // A turn that failed at a model without prices says nothing, and callers may name any model.
    const isSilent = failure !== undefined && this.#request.prices === undefined && hold === undefined
    if (!isStored && !isSilent) this.budgets?.turn(this.#spender, cost, hold, estimate)
  }

  /** Counts the turn during which the caller left. */
  close(isCut: boolean): void {
    if (this.#asked === undefined) return
    const { text, calls } = this.#asked.turn
    this.charge({ text, calls, usage: undefined, failure: { thrown: undefined } }, isCut)
  }

  /** What the turns and calls of the run cost together; nothing if no cost is known. */
  sum(tracked: readonly TrackedCall[]): Pick<RunAnswer, 'cost' | 'unknown_costs'> {
    let { known, micros, unknown } = this.#turns
    for (const { cost } of tracked.map(({ result }) => result)) {
      if (cost === null) unknown++
      if (typeof cost !== 'number') continue
      known++
      micros += toMicros(cost)
    }
    return known === 0 ? {} : { cost: inUnits(micros), ...(unknown > 0 && { unknown_costs: unknown }) }
  }

  #estimate({ failure, text, calls }: Charged, interrupted: boolean): number | undefined {
    if (this.#asked === undefined || !this.#isLimited) return undefined
    return estimateOf(this.#request.prices, {
      ...{ messages: this.#messages, tools: this.#asked.tools, held: this.#hold?.micros, interrupted },
      said: calls.length === 0 ? text : text + JSON.stringify(calls),
      thrown: failure?.thrown,
    })
  }

  get #spender() {
    const { tenant = LOCAL_TENANT, keyId } = this.#request.context ?? {}
    return { tenant, keyId, model: this.#request.model.id }
  }
}
