import { pause } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'

const WINDOW_MS = 1_000
const EVENTS_PER_WINDOW = 1_000
const BYTES_PER_WINDOW = 10 * 1024 * 1024

/** Slows down a server whose session may last for days, so that no total bounds what it sends. */
export class Pace {
  readonly #clock: Clock
  #endMs = 0
  #events = 0
  #bytes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns a promise if the reader has to wait before it reads more. */
  take(events: number, bytes: number): Promise<void> | undefined {
    const now = this.#clock.now()
    if (now >= this.#endMs) {
      this.#endMs = now + WINDOW_MS
      this.#events = 0
      this.#bytes = 0
    }
    this.#events += events
    this.#bytes += bytes
    const isOver = this.#events > EVENTS_PER_WINDOW || this.#bytes > BYTES_PER_WINDOW
    return isOver ? pause(this.#endMs - now, this.#clock) : undefined
  }
}
