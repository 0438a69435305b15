import { setTimeout as sleep } from 'node:timers/promises'

/** Looks again and again until it holds; gives whether it did in time. */
export async function waitUntil(holds: () => boolean, mostMs: number): Promise<boolean> {
  const end = performance.now() + mostMs
  while (!holds()) {
    if (performance.now() > end) return false
    await sleep(20)
  }
  return true
}
