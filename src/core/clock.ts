import { performance } from 'node:perf_hooks'

/** Time as the core sees it, so that tests can hand in a clock of their own. */
export interface Clock {
  /** Milliseconds that only ever grow; for durations. */
  now(): number
  /** Milliseconds since 1970; for timestamps. */
  wall(): number
  /** Calls back after `ms`; gives the way to call it off. */
  after(ms: number, callback: () => void): () => void
}

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
}

/** The machine's own time, for background work: its timers don't keep the process alive. */
export const backgroundClock: Clock = {
  ...systemClock,
  after(ms, callback) {
    const timer = setTimeout(callback, ms).unref()
    return () => clearTimeout(timer)
  },
}
