import type { Loop } from '../batches.ts'
import type { PreparedCall } from '../contender.ts'

/** How many calls are under way at any time. */
export const IN_FLIGHT = 32

/** Makes a call so many times, with as many under way as may be. */
export const inFlight =
  (call: PreparedCall): Loop =>
  async (calls) => {
    let left = calls
    const caller = async () => {
      while (left-- > 0) await call()
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
  }
