import type { CallerRate, RateState } from '../../core/rates.ts'
import type { ToolFailure } from '../../core/tool-result.ts'
import type { RestContext } from './rest-context.ts'

/** What stays the same of a limit, worked out once for each. */
interface Policy {
  readonly calls: string
  readonly seconds: number
}

const policies = new WeakMap<CallerRate, Policy>()

/** How the caller's limit stands, as names and values in a row. */
export function rateHeaders(rate: CallerRate, { waitMs, remaining }: RateState): string[] {
  let policy = policies.get(rate)
  if (policy === undefined) {
    policy = policyOf(rate)
    policies.set(rate, policy)
  }
  // The window slides: while there are places left, all are free again after a whole one at the latest.
  const reset = waitMs > 0 ? Math.ceil(waitMs / 1_000) : policy.seconds
  return ['ratelimit-limit', policy.calls, 'ratelimit-remaining', String(remaining), 'ratelimit-reset', String(reset)]
}

const policyOf = ({ calls, perMs }: CallerRate): Policy => ({ calls: String(calls), seconds: Math.ceil(perMs / 1_000) })

/** What clients are told to wait where nobody knows better. */
const SOON = 1

/** When it makes sense to come again, after a failure that passes. */
export function retryAfter({ error_code }: ToolFailure, context: RestContext | undefined): string[] {
  if (error_code !== 'RATE_LIMITED' && error_code !== 'SERVICE_UNAVAILABLE') return []
  const waitMs = error_code === 'RATE_LIMITED' ? (context?.rateState?.waitMs ?? 0) : 0
  return ['retry-after', String(Math.max(SOON, Math.ceil(waitMs / 1_000)))]
}
