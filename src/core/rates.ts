/** At most `calls` in any `perMs` milliseconds. */
export interface Rate {
  readonly calls: number
  readonly perMs: number
  /** Callers choose the names of sessions, so there can be any number. If there are too many, the oldest are forgotten. */
  readonly ofSession?: boolean
}

/** The state of a limit after a call. */
export interface RateState {
  /** 0 if the call may run, otherwise the time until one may. */
  readonly waitMs: number
  readonly remaining: number
}

/** Counts calls against limits. Limits that servers share may be asynchronous. */
export interface Rates {
  take(key: string, rate: Rate, now: number): RateState | Promise<RateState>
  /** The state of a limit without counting a call, as far as this server knows. */
  look(key: string, rate: Rate, now: number): RateState
}

/** A limit that applies to one caller. */
export interface CallerRate extends Rate {
  readonly key: string
  /** The start of the error message, such as `Caller 'ci' may make 60 calls a minute`. */
  readonly description: string
}

/** A sliding window per key. Idle keys are dropped, so that memory doesn't grow with the number of callers. */
abstract class WindowedLimit<Window> {
  readonly calls: number
  readonly perMs: number
  /** Above this number the oldest keys are dropped even if they are in use. */
  readonly #maxKeys: number
  readonly #windows = new Map<string, Window>()
  #sweepAt = 64

  constructor(calls: number, perMs: number, maxKeys = Number.POSITIVE_INFINITY) {
    this.#maxKeys = maxKeys
    this.calls = calls
    this.perMs = perMs
  }

  abstract create(now: number): Window
  abstract stateOf(window: Window, now: number): RateState
  abstract count(window: Window, now: number): void

  take(key: string, now: number): RateState {
    let window = this.#windows.get(key)
    if (window === undefined) {
      if (this.#windows.size >= this.#sweepAt) this.#sweep(now)
      window = this.create(now)
      this.#windows.set(key, window)
    }
    const state = this.stateOf(window, now)
    if (state.waitMs > 0) return { waitMs: state.waitMs, remaining: 0 }
    this.count(window, now)
    return { waitMs: 0, remaining: state.remaining - 1 }
  }

  look(key: string, now: number): RateState {
    const window = this.#windows.get(key)
    return window === undefined ? { waitMs: 0, remaining: this.calls } : this.stateOf(window, now)
  }

  #sweep(now: number): void {
    for (const [key, window] of this.#windows) {
      if (this.stateOf(window, now).remaining === this.calls) this.#windows.delete(key)
    }
    // Many at once, because a sweep looks at all of them.
    const least = this.#windows.size < this.#maxKeys ? this.#maxKeys : Math.floor(this.#maxKeys * 0.9)
    for (const key of this.#windows.keys()) {
      if (this.#windows.size <= least) break
      this.#windows.delete(key)
    }
    this.#sweepAt = Math.min(this.#maxKeys, Math.max(64, this.#windows.size * 2))
  }
}

/** Exact: stores the times of the last calls in a ring buffer, in which `next` is the oldest. */
export class RateLimit extends WindowedLimit<{ readonly times: Float64Array; next: number }> {
  override create() {
    return { times: new Float64Array(this.calls).fill(Number.NEGATIVE_INFINITY), next: 0 }
  }

  override stateOf({ times, next }: { readonly times: Float64Array; readonly next: number }, now: number): RateState {
    // The times are sorted from the oldest on.
    let [from, to] = [0, this.calls]
    while (from < to) {
      const middle = (from + to) >>> 1
      const time = times[(next + middle) % this.calls] as number
      if (time + this.perMs <= now) from = middle + 1
      else to = middle
    }
    return { waitMs: Math.max(0, (times[next] as number) + this.perMs - now), remaining: from }
  }

  override count(window: { readonly times: Float64Array; next: number }, now: number): void {
    window.times[window.next] = now
    window.next = (window.next + 1) % this.calls
  }
}

const SLOTS = 64
/** One more slot than in the window: the oldest has passed only in part. */
const RING = SLOTS + 1
const MAX_SESSIONS = 100_000

interface SlotWindow {
  /** A ring buffer of calls per slot. */
  readonly counts: Uint32Array
  slot: number
  total: number
}

/**
 * For limits too high to store the time of each call: counts calls in 64 slots. A slot counts until all of it has
 * passed, so the limit is never exceeded, and may be reached 1/64 of the window early.
 */
export class CoarseRateLimit extends WindowedLimit<SlotWindow> {
  readonly #slotMs: number

  constructor(calls: number, perMs: number, maxKeys?: number) {
    super(calls, perMs, maxKeys)
    this.#slotMs = perMs / SLOTS
  }

  override create(now: number): SlotWindow {
    return { counts: new Uint32Array(RING), slot: Math.floor(now / this.#slotMs), total: 0 }
  }

  override stateOf(window: SlotWindow, now: number): RateState {
    this.#advance(window, now)
    const remaining = Math.max(0, this.calls - window.total)
    return { waitMs: remaining > 0 ? 0 : this.#waitMs(window, now), remaining }
  }

  override count(window: SlotWindow): void {
    const place = window.slot % RING
    window.counts[place] = (window.counts[place] as number) + 1
    window.total++
  }

  #advance(window: SlotWindow, now: number): void {
    const slot = Math.floor(now / this.#slotMs)
    const steps = Math.min(slot - window.slot, RING)
    for (let step = 1; step <= steps; step++) {
      const place = (window.slot + step) % RING
      window.total -= window.counts[place] as number
      window.counts[place] = 0
    }
    if (slot > window.slot) window.slot = slot
  }

  /** Until the oldest slot with calls has passed. */
  #waitMs({ counts, slot }: SlotWindow, now: number): number {
    for (let age = RING - 1; age >= 0; age--) {
      if ((counts[(slot + RING - age) % RING] as number) > 0) return (slot - age + RING) * this.#slotMs - now
    }
    return this.perMs
  }
}

/** Up to these limits windows are exact; above them they are coarse. */
const MAX_EXACT_CALLS = 10_000
const MAX_EXACT_MS = 10 * 60_000

/** By `perMs`, then by `calls`. */
type Limits = Map<number, Map<number, RateLimit | CoarseRateLimit>>

/** Rate limits of this process. */
export class LocalRates implements Rates {
  readonly #limits: Limits = new Map()
  /** Apart from the others, which are never forgotten. */
  readonly #sessions: Limits = new Map()

  take(key: string, rate: Rate, now: number): RateState {
    const limit = this.#limitsOf(rate).get(rate.perMs)?.get(rate.calls) ?? this.#add(rate)
    return limit.take(key, now)
  }

  look(key: string, rate: Rate, now: number): RateState {
    const limit = this.#limitsOf(rate).get(rate.perMs)?.get(rate.calls)
    return limit?.look(key, now) ?? { waitMs: 0, remaining: rate.calls }
  }

  #limitsOf({ ofSession }: Rate): Limits {
    return ofSession ? this.#sessions : this.#limits
  }

  #add(rate: Rate): RateLimit | CoarseRateLimit {
    const { calls, perMs, ofSession } = rate
    const coarse = ofSession || calls > MAX_EXACT_CALLS || perMs > MAX_EXACT_MS
    const limit = coarse
      ? new CoarseRateLimit(calls, perMs, ofSession ? MAX_SESSIONS : undefined)
      : new RateLimit(calls, perMs)
    const all = this.#limitsOf(rate)
    const limits = all.get(perMs) ?? new Map<number, RateLimit | CoarseRateLimit>()
    all.set(perMs, limits.set(calls, limit))
    return limit
  }
}
