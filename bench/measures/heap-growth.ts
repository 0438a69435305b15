import { heapInUse } from '../heap.ts'
import { toolyard, weatherTool } from '../toolyard.ts'
import { handler, NAME, PARAMS } from '../weather.ts'

export interface HeapGrowthOptions {
  readonly from: number
  readonly to: number
}

export interface HeapGrowthResult extends HeapGrowthOptions {
  readonly atFromBytes: number
  readonly atToBytes: number
  readonly bytesPerCall: number
}

/** The heap after `from` calls and after `to` calls: what is left of each call in between. */
export async function heapGrowth({ from, to }: HeapGrowthOptions): Promise<HeapGrowthResult> {
  const executor = (await toolyard([weatherTool()], { weather: handler })).getExecutor()
  let calls = 0
  const callUntil = async (limit: number) => {
    for (; calls < limit; calls++) await executor.execute(NAME, PARAMS)
    return await heapInUse()
  }
  const atFromBytes = await callUntil(from)
  const atToBytes = await callUntil(to)
  return { from, to, atFromBytes, atToBytes, bytesPerCall: (atToBytes - atFromBytes) / (to - from) }
}
