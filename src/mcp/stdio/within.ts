import type { Clock } from '../../core/clock.ts'

/** Waits for a promise, but no longer than `ms`. */
export async function within(ms: number, clock: Clock, promise: Promise<unknown>): Promise<void> {
  let cancel = (): void => {}
  const late = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve)
  })
  await Promise.race([promise, late])
  cancel()
}
