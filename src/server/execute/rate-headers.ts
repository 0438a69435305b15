import type { ToolFailure } from '../../core/tool-result.ts'
import type { RestContext } from './rest-context.ts'

/**
 * How the caller's limit stands, as names and values in a row: in the fields of the IETF draft (`RateLimit`,
 * `RateLimit-Policy`), and in the three that clients have long known.
 */
export function rateHeaders({ rate, rateState }: RestContext): string[] {
  if (rate === undefined || rateState === undefined) return []
  const { waitMs, remaining } = rateState
  const seconds = Math.ceil(rate.perMs / 1_000)
  // The window slides: while there are places left, all are free again after a whole one at the latest.
  const reset = waitMs > 0 ? Math.ceil(waitMs / 1_000) : seconds
  const name = rate.key.slice(0, rate.key.indexOf(' '))
  return [
    'ratelimit-policy',
    `"${name}";q=${rate.calls};w=${seconds}`,
    'ratelimit',
    `"${name}";r=${remaining};t=${reset}`,
    'ratelimit-limit',
    String(rate.calls),
    'ratelimit-remaining',
    String(remaining),
    'ratelimit-reset',
    String(reset),
  ]
}

/** What clients are told to wait where nobody knows better. */
const SOON = 1

/** When it makes sense to come again, after a failure that passes. */
export function retryAfter({ error_code }: ToolFailure, context: RestContext | undefined): string[] {
  if (error_code !== 'RATE_LIMITED' && error_code !== 'SERVICE_UNAVAILABLE') return []
  const waitMs = error_code === 'RATE_LIMITED' ? (context?.rateState?.waitMs ?? 0) : 0
  return ['retry-after', String(Math.max(SOON, Math.ceil(waitMs / 1_000)))]
}
