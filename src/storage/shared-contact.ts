import type { Company } from '../core/storage/lease-store.ts'
import type { LeasedLimit } from './leased-limit.ts'

/** Servers find out that the store is lost, or there again, within so long of each other. */
const APART_MS = 5_000

/**
 * Whether the store can be reached, and what of a limit may be used when it cannot: an equal share for every server.
 *
 * Who holds more than its share comes down to it at once. Who holds less waits until the calls of the others are past
 * before it uses all of its share, and when the store is there again all keep to their shares for as long. So the
 * calls of all together stay within the limit throughout.
 */
export class SharedContact {
  company: Company = { servers: 1, aloneMs: 0 }
  #lostAt: number | undefined
  /** The last time without contact. */
  #gap: { readonly from: number; readonly to: number } | undefined

  get lost(): boolean {
    return this.#lostAt !== undefined
  }

  /** True where that is new. */
  lose(now: number): boolean {
    if (this.#lostAt !== undefined) return false
    this.#lostAt = now
    return true
  }

  /** True where that is new. */
  find(now: number): boolean {
    if (this.#lostAt === undefined) return false
    this.#gap = { from: this.#lostAt, to: now }
    this.#lostAt = undefined
    return true
  }

  /** How many calls may have run within the time of the limit. */
  capacity({ held, calls, perMs }: LeasedLimit, now: number): number {
    if (this.#lostAt === undefined && this.#gap === undefined) return held
    const { servers, aloneMs } = this.company
    const share = Math.floor(calls / servers)
    const alone = servers === 1 && aloneMs >= perMs + APART_MS
    if (this.#lostAt !== undefined) {
      return alone || now >= this.#lostAt + perMs + APART_MS ? share : Math.min(held, share)
    }
    const gap = this.#gap as { from: number; to: number }
    // Nobody has used more than it held where the store came back before the calls of the others were past.
    const cautious = gap.to - gap.from >= perMs && now < gap.to + perMs + APART_MS
    return cautious ? Math.min(held, share) : held
  }
}
