import type { CancelSignal } from './cancellation.ts'
import type { Clock } from './clock.ts'

/** Waits on a clock; rejects with the signal's reason as soon as it aborts, and no timer is left. */
export function pause(ms: number, clock: Clock, signal?: CancelSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      callOff()
      reject(signal?.reason)
    }
    const callOff = clock.after(ms, () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    })
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort)
  })
}
