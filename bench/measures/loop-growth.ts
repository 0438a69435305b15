import { inTurns, type Pairs, warmUp } from '../batches.ts'
import { type LoopOptions, preparedRun, repeated } from './loop.ts'

/** One contender against itself: each shape in turns with the first. */
export async function loopGrowth({ id, shapes, firstWarmMs, ...settings }: LoopOptions): Promise<Pairs[]> {
  const { pairs, batchMs, warmMs } = settings
  const [first, ...others] = shapes
  if (first === undefined) return []
  const base = repeated(await preparedRun(id, first))
  await warmUp(base, firstWarmMs, batchMs)
  const found = [await inTurns(base, base, pairs, batchMs, warmMs)]
  for (const shape of others) {
    found.push(await inTurns(base, repeated(await preparedRun(id, shape)), pairs, batchMs, warmMs))
  }
  return found
}
