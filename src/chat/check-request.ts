import { ABOVE_ZERO, COUNT, checkNested, checkNumber, checkObject } from '../core/check-options.ts'
import { checkPrices, checkSampling } from '../models/check-numbers.ts'
import type { RunRequest } from './run.ts'

const RUN = 'ToolLoop.run'
const BUDGET = { wall_time_ms: ABOVE_ZERO, tokens: COUNT, cost: ABOVE_ZERO } as const

const REQUEST: Readonly<Record<keyof RunRequest, true>> = {
  ...{ model: true, messages: true, service: true, allowed_tools: true, ask_writes: true, client_tools: true },
  ...{ prior_calls: true, tool_choice: true, output: true, cache_key: true, max_iterations: true, max_tokens: true },
  ...{ temperature: true, budget: true, prices: true, context: true, parent_run: true, agent: true, mocked: true },
  journal: true,
}

/** Throws for options that there are not, and for numbers that would silently not limit a run: each comparison with NaN is false. */
export function checkRequest(request: RunRequest): void {
  checkObject(RUN, request, REQUEST)
  const { max_iterations, budget, prices } = request
  if (max_iterations !== undefined) checkNumber(RUN, 'max_iterations', max_iterations, COUNT)
  checkSampling(RUN, request)
  if (budget !== undefined) checkNested(RUN, 'budget', budget, BUDGET)
  for (const name of ['wall_time_ms', 'tokens', 'cost'] as const) {
    if (budget?.[name] !== undefined) checkNumber(RUN, `budget.${name}`, budget[name], BUDGET[name])
  }
  if (prices !== undefined) checkPrices(RUN, prices)
}
