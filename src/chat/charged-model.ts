import type { Allowance } from '../core/call-context.ts'
import type { Budgets, Spender } from '../core/costs.ts'
import { ToolExecutionError } from '../core/tool-result.ts'
import type { Model, ModelEvent, ModelRequest, Usage } from '../models/model.ts'
import { type ModelPrices, turnCost } from '../models/model-info.ts'
import { estimateOf, RunBudget } from './run-budget.ts'

interface Payer {
  readonly budgets: Budgets
  readonly spender: Spender
  readonly prices: ModelPrices | undefined
  /** What the run that asks may still spend. */
  readonly allowance?: Allowance | undefined
}

/** A model that is asked outside of a run. Budgets refuse its requests with a `ToolExecutionError`, and count them. */
export const chargedModel = (model: Model, payer: Payer): Model => ({
  id: model.id,
  ...(model.accepts && { accepts: model.accepts }),
  ...(model.enforces && { enforces: (...asked) => model.enforces?.(...asked) === true }),
  stream: (request) => charged(model, request, payer),
})

async function* charged(model: Model, request: ModelRequest, payer: Payer): AsyncGenerator<ModelEvent, void> {
  const { budgets, prices, allowance } = payer
  const spender = { ...payer.spender, model: model.id }
  const { messages, tools, signal } = request
  if (prices === undefined && Number.isFinite(allowance?.left().cost ?? Number.POSITIVE_INFINITY)) {
    const message = `The run has a cost budget, which needs the prices of model ${model.id}: set models[].prices`
    throw new ToolExecutionError('EXECUTION_ERROR', message)
  }
  const budget = allowance && new RunBudget({}, prices, messages, tools, allowance)
  const max_tokens = budget?.allow(request.max_tokens, false) ?? request.max_tokens
  if (typeof max_tokens === 'object') {
    throw new ToolExecutionError('RATE_LIMITED', `Model ${model.id} was not called: ${max_tokens.limit} is reached`)
  }
  let isOpen = true
  let said = ''
  const taken = await budgets.take(spender)?.catch((refusal: unknown) => {
    budget?.release()
    throw refusal
  })
  const settle = (usage: Usage | undefined, failure?: { readonly thrown: unknown }): void => {
    if (!isOpen) return
    isOpen = false
    signal?.removeEventListener('abort', interrupt)
    const interrupted = signal?.aborted === true
    const cost = turnCost(prices, usage)
    const { hold } = taken ?? {}
    const about = { messages, tools, said, thrown: failure?.thrown, interrupted, held: hold?.micros }
    const estimate = cost === undefined && taken !== undefined ? estimateOf(prices, about) : undefined
    if (failure !== undefined && said === '' && !interrupted) budget?.release()
    else budget?.spend(usage, said)
    // A turn that failed at a model without prices says nothing.
    const isSilent = failure !== undefined && prices === undefined && hold === undefined
    if (!isSilent) budgets.turn(spender, cost, hold, estimate)
  }
  // A provider may ignore the signal.
  const interrupt = (): void => settle(undefined)
  signal?.addEventListener('abort', interrupt)
  try {
    const asked = max_tokens === undefined ? request : { ...request, max_tokens }
    for await (const event of model.stream(asked)) {
      if (event.type === 'text-delta') said += event.text
      if (event.type === 'tool-call-end') said += event.call.function.name + event.call.function.arguments
      // Readers stop at the last event.
      if (event.type === 'finish') settle(event.usage)
      yield event
    }
  } catch (thrown) {
    settle(undefined, { thrown })
    throw thrown
  } finally {
    settle(undefined)
  }
}
