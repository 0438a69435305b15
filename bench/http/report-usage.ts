import { heapInUse } from '../heap.ts'
import type { Usage } from './usage.ts'

/** What the parent asks: with `collected`, the heap is that after everything that can be collected was. */
export interface UsageQuestion {
  readonly usage: { readonly collected: boolean }
}

/** Has this process tell its parent what it uses whenever it asks, and end with it. */
export function reportUsage(): void {
  process.on('disconnect', () => process.exit(1))
  process.on('message', async (message: Partial<UsageQuestion>) => {
    if (message.usage !== undefined) process.send?.({ usage: await usage(message.usage.collected) })
  })
}

async function usage(collected: boolean): Promise<Usage> {
  const whole = process.cpuUsage()
  const main = process.threadCpuUsage()
  const { heapUsed, external, rss } = process.memoryUsage()
  return {
    cpuUs: whole.user + whole.system,
    mainUs: main.user + main.system,
    heapBytes: collected ? await heapInUse() : heapUsed + external,
    residentBytes: rss,
  }
}
