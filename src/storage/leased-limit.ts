import type { Rate, RateState } from '../core/rates.ts'
import type { LeaseRequest } from '../core/storage/lease-store.ts'

/** Servers hold so much of a limit that they do not use at the moment: together an eighth. */
const SPARE_PART = 8
/** Without a call for so long a server keeps nothing to spare. */
const IDLE_MS = 1_000
/** Said to callers where only other servers know when there is room again. */
const GUESS_MS = 1_000

/** A call that waits for a part of the limit. */
export interface WaitingCall {
  answer(state: RateState): void
}

/** One limit: the part of it that this server holds, and the calls that have used it. */
export class LeasedLimit implements Rate {
  readonly key: string
  readonly calls: number
  readonly perMs: number
  readonly window: SlidingWindow
  readonly waiting = new Set<WaitingCall>()
  /** The part that may be used here. What is being given back is no part of it any more. */
  held = 0
  /** The store had no more to give: until then it is not asked again. */
  deniedUntil = Number.NEGATIVE_INFINITY
  /** Asked for and not answered: nobody knows what the store takes this server to hold. */
  unsure = false
  #usedAt = Number.NEGATIVE_INFINITY

  constructor(key: string, { calls, perMs }: Rate) {
    this.key = key
    this.calls = calls
    this.perMs = perMs
    this.window = new SlidingWindow(perMs)
  }

  /** Nothing is held, used or wanted. */
  idle(now: number): boolean {
    return this.held === 0 && !this.unsure && this.waiting.size === 0 && this.window.count(now) === 0
  }

  /** The part to hold from now on. Never less than what was used within the time of the limit. */
  target(now: number, servers: number): number {
    const needed = this.window.count(now) + this.waiting.size
    const busy = this.waiting.size > 0 || now < this.#usedAt + Math.min(IDLE_MS, this.perMs)
    return Math.min(this.calls, needed + (busy ? this.#spare(servers) : 0))
  }

  /** Whether more should be asked for before it runs out. */
  runsOut(now: number, servers: number): boolean {
    return this.held - this.window.count(now) < this.#spare(servers) / 2
  }

  /** Whether the store should hear of it although no call waits. */
  hasNews(now: number, servers: number): boolean {
    return this.unsure || this.held !== this.target(now, servers)
  }

  /** What to ask the store for; the last time only what has been used. */
  request(now: number, servers: number, last: boolean): LeaseRequest {
    const want = last ? this.window.count(now) : this.target(now, servers)
    // What is given back is not used from now on, whenever the store gets to know of it.
    this.held = Math.min(this.held, want)
    this.unsure = true
    return { key: this.key, calls: this.calls, perMs: this.perMs, want }
  }

  /** Takes a place where there is one. */
  take(now: number, capacity: number, servers: number): RateState | undefined {
    const used = this.window.count(now)
    if (used >= capacity) return undefined
    this.window.add(now)
    this.#usedAt = now
    const left = Math.max(capacity, Math.floor(this.calls / servers)) - used - 1
    return { waitMs: 0, remaining: left }
  }

  /** How it stands without taking a place. */
  look(now: number, capacity: number, servers: number): RateState {
    const used = this.window.count(now)
    const remaining = Math.max(0, Math.max(capacity, Math.floor(this.calls / servers)) - used)
    return remaining > 0 ? { waitMs: 0, remaining } : this.refusal(now, capacity)
  }

  refusal(now: number, capacity: number): RateState {
    const used = this.window.count(now)
    const pastAt = capacity > 0 ? this.window.pastAt(used - capacity) : undefined
    return { waitMs: pastAt === undefined ? Math.min(this.perMs, GUESS_MS) : pastAt - now, remaining: 0 }
  }

  #spare(servers: number): number {
    return Math.floor(this.calls / (SPARE_PART * servers))
  }
}

/** Passed times are cut off when there are this many of them. */
const CUT_AT = 1_024

/** The times of the calls of the last so many milliseconds. */
class SlidingWindow {
  readonly #perMs: number
  #times: number[] = []
  #first = 0

  constructor(perMs: number) {
    this.#perMs = perMs
  }

  /** How many calls are not past yet. */
  count(now: number): number {
    const times = this.#times
    while (this.#first < times.length && (times[this.#first] as number) + this.#perMs <= now) this.#first++
    if (this.#first === times.length || this.#first >= CUT_AT) {
      this.#times = times.slice(this.#first)
      this.#first = 0
    }
    return this.#times.length - this.#first
  }

  add(now: number): void {
    this.#times.push(now)
  }

  /** When one of those is past, by its place from the oldest on; undefined where there are fewer. */
  pastAt(place: number): number | undefined {
    const time = this.#times[this.#first + place]
    return time === undefined ? undefined : time + this.#perMs
  }
}
