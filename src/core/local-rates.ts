import { CoarseRateLimit } from './coarse-rate-limit.ts'
import { RateLimit } from './rate-limit.ts'
import type { Rate, RateState, Rates } from './rates.ts'

/** Up to here the time of each call is kept; beyond it, calls are counted in slots of time. */
const MOST_TIMES = 10_000
const LONGEST_EXACT_MS = 10 * 60_000

/** Limits of this process alone. */
export class LocalRates implements Rates {
  readonly #limits = new Map<string, RateLimit | CoarseRateLimit>()

  take(key: string, { calls, perMs }: Rate, now: number): RateState {
    const name = `${calls}/${perMs}`
    let limit = this.#limits.get(name)
    if (limit === undefined) {
      const coarse = calls > MOST_TIMES || perMs > LONGEST_EXACT_MS
      limit = coarse ? new CoarseRateLimit(calls, perMs) : new RateLimit(calls, perMs)
      this.#limits.set(name, limit)
    }
    return limit.take(key, now)
  }
}
