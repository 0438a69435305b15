import { type Clock, systemClock } from '../core/clock.ts'

/** The machine's own time, for work in the background: what it is to call back keeps no process alive. */
export const backgroundClock: Clock = {
  ...systemClock,
  after(ms, callback) {
    const timer = setTimeout(callback, ms).unref()
    return () => clearTimeout(timer)
  },
}
