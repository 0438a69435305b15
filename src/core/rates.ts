/** So many calls in any so many milliseconds. */
export interface Rate {
  readonly calls: number
  readonly perMs: number
}

/** How a limit stands after a call has asked for its place. */
export interface RateState {
  /** 0 where the call may run, else the milliseconds until the next one may. */
  readonly waitMs: number
  /** How many more calls may run now. */
  readonly remaining: number
}

/** Counts calls against limits. Where servers share them, the answer may have to be waited for. */
export interface Rates {
  take(key: string, rate: Rate, now: number): RateState | Promise<RateState>
  /** How a limit stands without taking anything of it, as far as this server knows. */
  look(key: string, rate: Rate, now: number): RateState
}

/** One limit of a caller, besides those of the tools: what it is called in errors, and what its calls are counted by. */
export interface CallerRate extends Rate {
  readonly key: string
  /** Completes "…: try again in 5 s", such as `Caller 'ci' may make 60 calls a minute`. */
  readonly says: string
}

interface ExactWindow {
  /** In a ring: the oldest stands at `next`. */
  readonly times: Float64Array
  next: number
}

/** At most `calls` in any `perMs` milliseconds, per key: the times of the last calls, and the oldest must be past. */
export class RateLimit {
  readonly #calls: number
  readonly #perMs: number
  readonly #windows = new Map<string, ExactWindow>()
  #sweepAt = 64

  constructor(calls: number, perMs: number) {
    this.#calls = calls
    this.#perMs = perMs
  }

  /** Takes one call, or says how long it is until one may run. */
  take(key: string, now: number): RateState {
    let window = this.#windows.get(key)
    if (window === undefined) {
      if (this.#windows.size >= this.#sweepAt) this.#sweep(now)
      window = { times: new Float64Array(this.#calls).fill(Number.NEGATIVE_INFINITY), next: 0 }
      this.#windows.set(key, window)
    }
    const wait = (window.times[window.next] as number) + this.#perMs - now
    if (wait > 0) return { waitMs: wait, remaining: 0 }
    window.times[window.next] = now
    window.next = (window.next + 1) % this.#calls
    return { waitMs: 0, remaining: this.#free(window, now) }
  }

  /** How the limit stands for a key, without taking anything. */
  look(key: string, now: number): RateState {
    const window = this.#windows.get(key)
    if (window === undefined) return { waitMs: 0, remaining: this.#calls }
    const wait = (window.times[window.next] as number) + this.#perMs - now
    return { waitMs: Math.max(0, wait), remaining: this.#free(window, now) }
  }

  /** The places whose calls are past: the times are in order from the oldest on, so half of them need not be looked at. */
  #free({ times, next }: ExactWindow, now: number): number {
    let [from, to] = [0, this.#calls]
    while (from < to) {
      const middle = (from + to) >>> 1
      const time = times[(next + middle) % this.#calls] as number
      if (time + this.#perMs <= now) from = middle + 1
      else to = middle
    }
    return from
  }

  /** Drops the windows of keys that have been quiet, so that the number of callers ever seen costs nothing. */
  #sweep(now: number): void {
    for (const [key, { times, next }] of this.#windows) {
      const newest = times[(next + this.#calls - 1) % this.#calls] as number
      if (newest + this.#perMs <= now) this.#windows.delete(key)
    }
    this.#sweepAt = Math.max(64, this.#windows.size * 2)
  }
}

const SLOTS = 64
/** Callers make up the names of their sessions: of more than these the oldest are forgotten. */
const MOST_WINDOWS = 100_000

interface Window {
  /** Calls in each of the last slots of time, in a ring. */
  readonly counts: Uint32Array
  /** The newest slot, counted from the beginning of the clock. */
  slot: number
  total: number
}

/**
 * A limit too high to keep the time of each call: calls are counted in slots of 1/64 of the time, and a slot counts
 * until all of it is past, so that the limit is never exceeded and may be reached up to 1/64 early.
 */
export class CoarseRateLimit {
  readonly #calls: number
  readonly #perMs: number
  readonly #slotMs: number
  readonly #windows = new Map<string, Window>()
  #sweepAt = 64

  constructor(calls: number, perMs: number) {
    this.#calls = calls
    this.#perMs = perMs
    this.#slotMs = perMs / SLOTS
  }

  /** Takes one call, or says how long it is until one may run. */
  take(key: string, now: number): RateState {
    const window = this.#windowOf(key, now)
    this.#forget(window, now)
    if (window.total >= this.#calls) return { waitMs: this.#waitMs(window, now), remaining: 0 }
    const place = window.slot % RING
    window.counts[place] = (window.counts[place] as number) + 1
    window.total++
    return { waitMs: 0, remaining: this.#calls - window.total }
  }

  /** How the limit stands for a key, without taking anything. */
  look(key: string, now: number): RateState {
    const window = this.#windows.get(key)
    if (window === undefined) return { waitMs: 0, remaining: this.#calls }
    this.#forget(window, now)
    const remaining = Math.max(0, this.#calls - window.total)
    return { waitMs: remaining > 0 ? 0 : this.#waitMs(window, now), remaining }
  }

  #windowOf(key: string, now: number): Window {
    let window = this.#windows.get(key)
    if (window === undefined) {
      if (this.#windows.size >= this.#sweepAt) this.#sweep(now)
      window = { counts: new Uint32Array(RING), slot: Math.floor(now / this.#slotMs), total: 0 }
      this.#windows.set(key, window)
    }
    return window
  }

  /** Slots that are wholly past count no more. */
  #forget(window: Window, now: number): void {
    const slot = Math.floor(now / this.#slotMs)
    const steps = Math.min(slot - window.slot, RING)
    for (let step = 1; step <= steps; step++) {
      const place = (window.slot + step) % RING
      window.total -= window.counts[place] as number
      window.counts[place] = 0
    }
    if (slot > window.slot) window.slot = slot
  }

  /** Until the oldest slot that holds calls is wholly past. */
  #waitMs({ counts, slot }: Window, now: number): number {
    for (let age = RING - 1; age >= 0; age--) {
      if ((counts[(slot + RING - age) % RING] as number) > 0) return (slot - age + RING) * this.#slotMs - now
    }
    return this.#perMs
  }

  #sweep(now: number): void {
    for (const [key, window] of this.#windows) {
      this.#forget(window, now)
      if (window.total === 0) this.#windows.delete(key)
    }
    for (const key of this.#windows.keys()) {
      if (this.#windows.size < MOST_WINDOWS) break
      this.#windows.delete(key)
    }
    this.#sweepAt = Math.min(MOST_WINDOWS, Math.max(64, this.#windows.size * 2))
  }
}

/** One more than there are in the time: the oldest is past in part. */
const RING = SLOTS + 1

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
