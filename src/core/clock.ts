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

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
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
  after(ms, callback) {
    const timer = setTimeout(callback, ms).unref()
    return () => clearTimeout(timer)
  },
}
