import type { Clock } from '../core/clock.ts'

/** A clock that only moves when told to, so that delays in tests take no time. */
export class ManualClock implements Clock {
  // Not 0: some caches treat a time of 0 as unset.
  #now = 1_000
  readonly #epoch: number
  readonly #timers = new Set<{ at: number; callback: () => void }>()

  constructor(epoch = Date.UTC(2026, 0, 1)) {
    this.#epoch = epoch
  }

  /** The number of pending callbacks. */
  get pending(): number {
    return this.#timers.size
  }

  now(): number {
    return this.#now
  }

  wall(): number {
    return this.#epoch + this.#now - 1_000
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Advances the time, and runs the callbacks that fall due, in order. */
  advance(ms: number): void {
    const end = this.#now + ms
    for (let next = this.#due(end); next !== undefined; next = this.#due(end)) {
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.callback()
    }
    this.#now = end
  }

  #due(end: number): { at: number; callback: () => void } | undefined {
    let first: { at: number; callback: () => void } | undefined
    for (const timer of this.#timers) {
      if (timer.at <= end && (first === undefined || timer.at < first.at)) first = timer
    }
    return first
  }
}
