import { costOf } from '../models/catalogue/cost-of.ts'
import type { ModelPrices } from '../models/catalogue/model-info.ts'
import type { Message, OfferedTool, Usage } from '../models/model.ts'
import { AROUND_A_MESSAGE, promptBound, textBound } from './prompt-bound.ts'
import type { Budget } from './run.ts'

/** What is kept back from the start for a last question. */
const RESERVED_SHARE = 0.1
const LEAST_TOKENS = 256
const LEAST_TIME_MS = 5_000
/** An answer shorter than this is none. */
const LEAST_ANSWER_TOKENS = 16

/** A limit that a run has come up to, as a part of a sentence. */
export interface Exhausted {
  readonly limit: string
}

/** What tokens and money are left of a run; nothing is asked that could exceed either. */
export class RunBudget {
  readonly #tokens: number
  readonly #cost: number
  readonly #prices: ModelPrices
  readonly #limits: Budget
  #spentTokens = 0
  #spentCost = 0
  /** No prompt of the conversation so far is longer than this, in tokens. */
  #prompt: number

  constructor(
    limits: Budget,
    prices: ModelPrices | undefined,
    messages: readonly Message[],
    tools: readonly OfferedTool[],
  ) {
    if (limits.cost !== undefined && prices === undefined) {
      throw new TypeError('A budget in money needs the prices of the model: give them in models[].prices')
    }
    this.#limits = limits
    this.#tokens = limits.tokens ?? Number.POSITIVE_INFINITY
    this.#cost = limits.cost ?? Number.POSITIVE_INFINITY
    this.#prices = prices ?? { input: 0, output: 0 }
    this.#prompt = promptBound(messages, tools)
  }

  /** How many tokens the next turn may answer with, or the limit that leaves none. */
  allow(maxTokens: number | undefined, last: boolean): number | undefined | Exhausted {
    const tokens = this.#tokens - this.#spentTokens - this.#prompt - (last ? 0 : this.#reservedTokens)
    const money = this.#cost - this.#spentCost - this.#priceOf(this.#prompt, 0) - (last ? 0 : this.#reservedCost)
    const affordable = money < 0 ? -1 : this.#tokensFor(money)
    const least = Math.min(maxTokens ?? LEAST_ANSWER_TOKENS, LEAST_ANSWER_TOKENS)
    if (tokens < least) return { limit: `the limit of ${this.#limits.tokens} tokens` }
    if (affordable < least) return { limit: `the cost limit of ${this.#limits.cost}` }
    const most = Math.floor(Math.min(maxTokens ?? Number.POSITIVE_INFINITY, tokens, affordable))
    return Number.isFinite(most) ? most : undefined
  }

  /** Takes note of a turn: what it cost, and that its answer is part of the next prompt. */
  spend(usage: Usage | undefined, said: string): void {
    const prompt = usage?.prompt_tokens ?? this.#prompt
    const completion = usage?.completion_tokens ?? textBound(said)
    this.#spentTokens += Math.max(usage?.total_tokens ?? 0, prompt + completion)
    this.#spentCost += this.#priceOf(prompt, completion)
    this.#prompt = prompt + completion + AROUND_A_MESSAGE
  }

  /** Takes note of a message that the next prompt has besides. */
  grow(message: Message): void {
    this.#prompt += promptBound([message], [])
  }

  get #reservedTokens(): number {
    return reserve(this.#tokens, LEAST_TOKENS)
  }

  get #reservedCost(): number {
    return reserve(this.#cost, 0)
  }

  #tokensFor(money: number): number {
    return this.#prices.output === 0 ? Number.POSITIVE_INFINITY : (money * 1_000_000) / this.#prices.output
  }

  #priceOf(prompt: number, completion: number): number {
    return costOf(this.#prices, prompt, completion)
  }
}

/** When the work of a run has to end, and when the run: in between is time for a last question. */
export function workingTime(wallTimeMs: number): number {
  return wallTimeMs - reserve(wallTimeMs, LEAST_TIME_MS)
}

/** A limit too small to keep something back from is used up whole, and the run then ends with a sentence. */
function reserve(limit: number, least: number): number {
  if (!Number.isFinite(limit)) return 0
  const kept = Math.max(limit * RESERVED_SHARE, least)
  return kept < limit ? kept : 0
}
