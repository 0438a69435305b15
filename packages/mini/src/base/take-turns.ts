import { setImmediate as turn } from 'node:timers/promises'

/** How long the text rules run before the event loop gets a turn. */
const SLICE_MS = 8

let began = performance.now()
let queue: Promise<void> = Promise.resolve()

/**
 * Yields to the event loop if the text rules have run for a slice. Every rule that runs once per parameter or tool calls
 * it in between. Questions that run at the same time queue up, so that only one of them runs per turn of the loop.
 */
export async function takeTurns(): Promise<void> {
  if (performance.now() - began < SLICE_MS) return
  queue = queue.then(() => turn())
  await queue
  began = performance.now()
}
