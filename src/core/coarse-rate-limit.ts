import type { RateState } from './rates.ts'

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
