import type { BoundTool } from './bound-tool.ts'
import type { Call } from './call.ts'
import type { Clock } from './clock.ts'
import type { CallerRate, RateState, Rates } from './rates.ts'
import { ToolExecutionError } from './tool-execution-error.ts'

/**
 * Takes the call's place in each of its limits, or throws `RATE_LIMITED`; a limit that refuses leaves those after it
 * alone. Gives a promise only where a limit has to be waited for. Without a tool only the caller's limits are asked.
 */
export function takeRates(
  call: Call,
  tool: BoundTool | undefined,
  rates: Rates,
  clock: Clock,
): Promise<void> | undefined {
  const { rates: callers } = call.context
  const own = tool?.limits.rate === undefined ? undefined : tool.rateOf(call.tenant)
  const count = callers === undefined ? 0 : callers.length
  for (let index = 0; index < count; index++) {
    const rate = (callers as readonly CallerRate[])[index] as CallerRate
    const state = rates.take(rate.key, rate, clock.now())
    if (state instanceof Promise) return takeRest(call, withOwn(callers, own), index, state, rates, clock)
    judge(call, rate, state, index === 0)
  }
  if (own === undefined) return undefined
  const state = rates.take(own.key, own, clock.now())
  if (state instanceof Promise) return takeRest(call, withOwn(callers, own), count, state, rates, clock)
  judge(call, own, state, false)
  return undefined
}

const withOwn = (callers: readonly CallerRate[] = [], own: CallerRate | undefined): readonly CallerRate[] =>
  own === undefined ? callers : [...callers, own]

async function takeRest(
  call: Call,
  all: readonly CallerRate[],
  from: number,
  first: Promise<RateState>,
  rates: Rates,
  clock: Clock,
): Promise<void> {
  for (const [index, rate] of all.entries()) {
    if (index < from) continue
    const state = index === from ? await first : await rates.take(rate.key, rate, clock.now())
    judge(call, rate, state, rate === call.context.rates?.[0])
  }
}

/** Whoever wants to know is told how the first limit stands, and which one refuses. */
function judge({ context }: Call, rate: CallerRate, state: RateState, isFirst: boolean): void {
  if (isFirst || state.waitMs > 0) context.onRate?.(state, rate)
  if (state.waitMs === 0) return
  throw new ToolExecutionError('RATE_LIMITED', `${rate.says}: try again in ${Math.ceil(state.waitMs)}ms`)
}
