import { performance } from 'node:perf_hooks'

/** The source of time. Tests pass their own. */
export interface Clock {
  /** Monotonic milliseconds, for durations. */
  now(): number
  /** Milliseconds since 1970; for timestamps. */
  wall(): number
  /** Calls back after `ms`. Returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void
}

/** Node.js calls back at once if a timer is longer. */
const LONGEST_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after: (ms, callback) => timed(ms, callback),
}

function timed(ms: number, callback: () => void, isBackground = false): () => void {
  let timer: NodeJS.Timeout
  const set = (leftMs: number): void => {
    timer = setTimeout(leftMs > LONGEST_MS ? () => set(leftMs - LONGEST_MS) : callback, Math.min(leftMs, LONGEST_MS))
    if (isBackground) timer.unref()
  }
  set(ms)
  return () => clearTimeout(timer)
}

/** The value of a promise, or undefined if it takes longer. */
export async function within<Value>(ms: number, promise: Promise<Value>, clock: Clock): Promise<Value | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const cancel = clock.after(ms, () => resolve(undefined))
  try {
    return await Promise.race([promise, late])
  } finally {
    cancel()
  }
}

/** For background work: its timers don't keep the process alive. */
export const backgroundClock: Clock = {
  ...systemClock,
  after: (ms, callback) => timed(ms, callback, true),
}

const TURN_MS = 10
/** The real one: calls in tests with fake timers would never begin. */
const { setImmediate } = globalThis

/** Turns of work that never waits by itself. Between them the process does everything else: timers, requests, other calls. */
export class Turns {
  readonly #clock: Clock
  #ends = 0
  #next: Promise<void> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The next turn, if this one has taken long enough. Others may use that one up: ask again then. */
  get next(): Promise<void> | undefined {
    if (this.#next === undefined) {
      this.#ends = this.#clock.now() + TURN_MS
      this.#next = new Promise((resolve) => {
        setImmediate(() => {
          this.#next = undefined
          resolve()
        })
      })
    }
    return this.#clock.now() >= this.#ends ? this.#next : undefined
  }
}
