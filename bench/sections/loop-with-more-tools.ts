import type { Pairs } from '../batches.ts'
import { measureInChild } from '../child.ts'
import { count, figure, withRange } from '../figures.ts'
import { inRounds } from '../in-rounds.ts'
import type { LoopContender } from '../loop-contender.ts'
import type { Effort, Finding } from '../section.ts'
import { median, spread } from '../statistics.ts'
import { table } from '../table.ts'

const FULL = { rounds: 2, sizes: [10, 100, 1_000, 5_000] }
const QUICK = { rounds: 1, sizes: [10, 1_000] }
/** Differences of a microsecond take more batches to see than those of a hundred milliseconds. */
const OURS = { pairs: 8, batchMs: 40, warmMs: 200, firstWarmMs: 400 }
const PEERS = { pairs: 3, batchMs: 20, warmMs: 80, firstWarmMs: 400 }
const SMOKE = { pairs: 1, batchMs: 10, warmMs: 20, firstWarmMs: 50 }

/** Whether a turn costs more where more tools are registered, of which the model calls one. */
export async function withMoreTools(loops: readonly LoopContender[], effort: Effort): Promise<Finding> {
  const { rounds, sizes } = effort.quick ? QUICK : FULL
  const shapes = sizes.map((tools) => ({ turns: 1, calls: 1, tools }))
  const progress = (line: string) => effort.progress(`more tools, ${line}`)
  const measured = await inRounds(loops, rounds, progress, ({ id, package: peer }) => {
    const settings = effort.quick ? SMOKE : peer === undefined ? OURS : PEERS
    return measureInChild<Pairs[]>('loop-growth', { id, shapes, ...settings })
  })
  const rows = measured.map(({ contender, rounds }) => [
    contender.name,
    ...sizes.flatMap((_, shape) => {
      const of = (pick: (pairs: Pairs) => number) => rounds.map((pairs) => pick(pairs[shape] as Pairs))
      const cpu = figure(median(of(({ cpuUs }) => cpuUs)))
      return shape === 0 ? [cpu] : [cpu, withRange(spread(of(({ cpuRatio }) => cpuRatio)))]
    }),
  ])
  const [first, ...others] = sizes
  const header = ['CPU µs', `${first} tools`, ...others.flatMap((size) => [`${count(size)} tools`, `× ${first} tools`])]
  return {
    raw: measured.map(({ contender: { id }, rounds }) => ({ id, sizes, rounds })),
    markdown: `One turn of one call, with more and more tools.\n\n${table(header, rows)}`,
  }
}
