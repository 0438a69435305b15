/** At most `calls` in any `perMs` milliseconds, per key: the times of the last calls, and the oldest must be past. */
export class RateLimit {
  readonly #calls: number
  readonly #perMs: number
  readonly #windows = new Map<string, { times: Float64Array; next: number }>()
  #sweepAt = 64

  constructor(calls: number, perMs: number) {
    this.#calls = calls
    this.#perMs = perMs
  }

  /** Takes one call; 0 where it may run, else the milliseconds until the next one may. */
  take(key: string, now: number): number {
    let window = this.#windows.get(key)
    if (window === undefined) {
      if (this.#windows.size >= this.#sweepAt) this.#sweep(now)
      window = { times: new Float64Array(this.#calls).fill(Number.NEGATIVE_INFINITY), next: 0 }
      this.#windows.set(key, window)
    }
    const wait = (window.times[window.next] as number) + this.#perMs - now
    if (wait > 0) return wait
    window.times[window.next] = now
    window.next = (window.next + 1) % this.#calls
    return 0
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
