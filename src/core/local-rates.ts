import { CoarseRateLimit } from './coarse-rate-limit.ts'
import { RateLimit } from './rate-limit.ts'
import type { Rate, RateState, Rates } from './rates.ts'

/** Up to here the time of each call is kept; beyond it, calls are counted in slots of time. */
const MOST_TIMES = 10_000
const LONGEST_EXACT_MS = 10 * 60_000

/** Limits of this process alone. */
export class LocalRates implements Rates {
  /** By time, then by calls: a name made of both would take longer than to count the call. */
  readonly #limits = new Map<number, Map<number, RateLimit | CoarseRateLimit>>()

  take(key: string, { calls, perMs }: Rate, now: number): RateState {
    const limit = this.#limits.get(perMs)?.get(calls) ?? this.#add(calls, perMs)
    return limit.take(key, now)
  }

  look(key: string, { calls, perMs }: Rate, now: number): RateState {
    return this.#limits.get(perMs)?.get(calls)?.look(key, now) ?? { waitMs: 0, remaining: calls }
  }

  #add(calls: number, perMs: number): RateLimit | CoarseRateLimit {
    const coarse = calls > MOST_TIMES || perMs > LONGEST_EXACT_MS
    const limit = coarse ? new CoarseRateLimit(calls, perMs) : new RateLimit(calls, perMs)
    const limits = this.#limits.get(perMs) ?? new Map<number, RateLimit | CoarseRateLimit>()
    this.#limits.set(perMs, limits.set(calls, limit))
    return limit
  }
}
