import { promptBound, textBound } from '../../chat/prompt-bound.ts'
import { costOf } from '../../models/catalogue/cost-of.ts'
import type { Model, ModelEvent, ModelRequest, Usage } from '../../models/model.ts'
import type { SuiteBudget } from './suite-budget.ts'
import type { TriedModel } from './trial.ts'

/**
 * A model as one trial sees it: what it uses up is held back before it is asked, and counted. A last question without
 * tools, which the loop puts when a limit was reached, tells nothing about the case, so it is not asked.
 */
export class TrialModel implements Model {
  readonly id: string
  readonly #tried: TriedModel
  readonly #budget: SuiteBudget
  /** Whether the case has tools. */
  readonly #offers: boolean
  tokens = 0
  cost: number | undefined
  usage: Usage | undefined
  /** What stopped it, where that was not the model. */
  refused: Error | undefined

  constructor(tried: TriedModel, budget: SuiteBudget, offers: boolean) {
    this.id = tried.model.id
    this.#tried = tried
    this.#budget = budget
    this.#offers = offers
    this.cost = tried.prices && 0
  }

  async *stream(request: ModelRequest): AsyncIterable<ModelEvent> {
    if (this.#offers && request.tools.length === 0) {
      yield { type: 'finish', reason: 'stop' }
      return
    }
    const { prices, model } = this.#tried
    const prompt = promptBound(request.messages, request.tools)
    const settle = await this.#budget.hold(prices, prompt, request.max_tokens ?? 0).catch((error: Error) => {
      this.refused = error
      throw error
    })
    let said = 0
    let heard = false
    let settled = false
    // A provider that does not say what it used is taken to have used all that it can have; one that never began to
    // answer, nothing.
    const done = (usage: Usage | undefined): void => {
      if (settled) return
      settled = true
      settle(this.#add(usage?.prompt_tokens ?? (heard ? prompt : 0), usage?.completion_tokens ?? said, usage))
    }
    try {
      request.signal?.throwIfAborted()
      for await (const event of model.stream(request)) {
        heard = true
        if (event.type === 'text-delta') said += textBound(event.text)
        if (event.type === 'tool-call-end') said += textBound(event.call.function.name + event.call.function.arguments)
        // Whoever reads a stream stops at its finish, and what comes after that is too late for the trial.
        if (event.type === 'finish') done(event.usage)
        yield event
      }
    } finally {
      done(undefined)
    }
  }

  #add(prompt: number, completion: number, usage: Usage | undefined) {
    const cost = costOf(this.#tried.prices, prompt, completion)
    const tokens = Math.max(usage?.total_tokens ?? 0, prompt + completion)
    this.tokens += tokens
    if (cost !== undefined) this.cost = (this.cost ?? 0) + cost
    const before = this.usage
    this.usage = {
      prompt_tokens: (before?.prompt_tokens ?? 0) + prompt,
      completion_tokens: (before?.completion_tokens ?? 0) + completion,
      total_tokens: (before?.total_tokens ?? 0) + tokens,
    }
    return { tokens, ...(cost !== undefined && { cost }) }
  }
}
