import { ABOVE_ZERO, COUNT, checkNested, checkNumber } from '../core/check-options.ts'
import { checkPrices, checkSampling } from '../models/check-numbers.ts'
import type { RunRequest } from './run.ts'

const RUN = 'ToolLoop.run'
const BUDGET = { wall_time_ms: ABOVE_ZERO, tokens: COUNT, cost: ABOVE_ZERO } as const

/** Throws for numbers that would silently not limit a run: each comparison with NaN is false. */
export function checkRequest(request: RunRequest): void {
  const { max_iterations, budget, prices } = request
  if (max_iterations !== undefined) checkNumber(RUN, 'max_iterations', max_iterations, COUNT)
  checkSampling(RUN, request)
  if (budget !== undefined) checkNested(RUN, 'budget', budget, BUDGET)
  for (const name of ['wall_time_ms', 'tokens', 'cost'] as const) {
    if (budget?.[name] !== undefined) checkNumber(RUN, `budget.${name}`, budget[name], BUDGET[name])
  }
  if (prices !== undefined) checkPrices(RUN, prices)
}
