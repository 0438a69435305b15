/** Loads servers in a process of its own, as its parent orders: so many calls, one order at a time. */
import type { Loop } from '../batches.ts'
import { asking } from './asking.ts'
import type { Order } from './http-load-generator.ts'
import { inFlight } from './in-flight.ts'

process.on('disconnect', () => process.exit())

const loops = new Map<string, Loop>()

process.on('message', async ({ url, era, calls }: Order) => {
  const known = loops.get(url)
  const loop = known ?? inFlight(await asking(url, era))
  loops.set(url, loop)
  await loop(calls)
  process.send?.('done')
})
