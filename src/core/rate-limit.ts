import type { RateState } from './rates.ts'

interface Window {
  /** In a ring: the oldest stands at `next`. */
  readonly times: Float64Array
  next: number
}

/** At most `calls` in any `perMs` milliseconds, per key: the times of the last calls, and the oldest must be past. */
export class RateLimit {
  readonly #calls: number
  readonly #perMs: number
  readonly #windows = new Map<string, Window>()
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
  #free({ times, next }: Window, now: number): number {
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
