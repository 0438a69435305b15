import type { Company } from '../core/storage/lease-store.ts'
import type { LeasedLimit } from './leased-limit.ts'

/** Servers find out that the store is lost, or there again, within so long of each other. */
const APART_MS = 5_000

interface Gap {
  readonly from: number
  readonly to: number
}

/**
 * Whether the store can be reached, and what of a limit may be used when it cannot: an equal share for every server.
 *
 * Who holds more than its share comes down to it at once. Who holds less waits until the calls of the others are past
 * before it uses all of its share, and when the store is there again all keep to their shares for as long. So the
 * calls of all together stay within the limit throughout.
 */
export class SharedContact {
  #company: Company = { servers: 1, aloneMs: 0 }
  #lostAt: number | undefined
  /** The last time in which servers may have used shares that the store knows nothing of. */
  #gap: Gap | undefined

  get lost(): boolean {
    return this.#lostAt !== undefined
  }

  get servers(): number {
    return this.#company.servers
  }

  meet(company: Company, now: number): void {
    this.#company = company
    const { gap } = company
    if (gap !== undefined) this.#note({ from: now - gap.agoMs - gap.lastedMs, to: now - gap.agoMs })
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
    this.#note({ from: this.#lostAt, to: now })
    this.#lostAt = undefined
    return true
  }

  /** How many calls may have run within the time of the limit. */
  capacity({ held, calls, perMs }: LeasedLimit, now: number): number {
    if (this.#lostAt === undefined && this.#gap === undefined) return held
    const { servers, aloneMs } = this.#company
    const share = Math.floor(calls / servers)
    if (this.#lostAt !== undefined) {
      const alone = servers === 1 && aloneMs >= perMs + APART_MS
      return alone || now >= this.#lostAt + perMs + APART_MS ? share : Math.min(held, share)
    }
    const { from, to } = this.#gap as Gap
    // Where the store came back before the calls of the others were past, nobody has used more than it held.
    const mattered = to - from >= perMs
    return mattered && now < to + perMs + APART_MS ? Math.min(held, share) : held
  }

  /** One that follows soon after another counts as the same. */
  #note(gap: Gap): void {
    const last = this.#gap
    if (last === undefined || gap.from > last.to + (last.to - last.from) + 2 * APART_MS) this.#gap = gap
    else this.#gap = { from: Math.min(last.from, gap.from), to: Math.max(last.to, gap.to) }
  }
}
