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
  if (callers === undefined && tool?.limits.rate === undefined) return undefined
  const all = [...(callers ?? []), ...(tool === undefined ? [] : toolRate(call, tool))]
  for (const [index, rate] of all.entries()) {
    const state = rates.take(rate.key, rate, clock.now())
    if (state instanceof Promise) return takeRest(call, all, index, state, rates, clock)
    judge(call, rate, state, rate === callers?.[0])
  }
  return undefined
}

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

function judge({ context }: Call, rate: CallerRate, state: RateState, isFirst: boolean): void {
  if (isFirst) context.onRate?.(state, rate)
  if (state.waitMs === 0) return
  throw new ToolExecutionError('RATE_LIMITED', `${rate.says}: try again in ${Math.ceil(state.waitMs)}ms`)
}

function toolRate({ tenant }: Call, { name, limits: { rate } }: BoundTool): readonly CallerRate[] {
  if (rate === undefined) return []
  return [
    { ...rate, key: `tool ${tenant} ${name}`, says: `Tool '${name}' allows ${rate.calls} calls per ${rate.perMs}ms` },
  ]
}
