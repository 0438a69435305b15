import type { Pairs } from '../batches.ts'
import { measureInChild } from '../child.ts'
import { count, figure, withRange } from '../figures.ts'
import { inRounds } from '../in-rounds.ts'
import type { LoopContender } from '../loop-contender.ts'
import type { Effort, Finding } from '../section.ts'
import { median, spread } from '../statistics.ts'
import { table } from '../table.ts'

const FULL = { rounds: 3, pairs: 6, batchMs: 40, warmMs: 150, firstWarmMs: 500 }
const QUICK = { rounds: 1, pairs: 2, batchMs: 15, warmMs: 40, firstWarmMs: 100 }
const FIRST = 4
const TURNS = [FIRST, 16, 64, 128]

/** Whether a turn costs more the longer the conversation is already. */
export async function withMoreTurns(loops: readonly LoopContender[], effort: Effort): Promise<Finding> {
  const { rounds, ...settings } = effort.quick ? QUICK : FULL
  const shapes = TURNS.map((turns) => ({ turns, calls: 1, tools: 1 }))
  const progress = (line: string) => effort.progress(`more turns, ${line}`)
  const measured = await inRounds(loops, rounds, progress, ({ id }) =>
    measureInChild<Pairs[]>('loop-growth', { id, shapes, ...settings }),
  )
  const rows = measured.flatMap(({ contender, rounds }) =>
    TURNS.map((turns, shape) => {
      const of = (pick: (pairs: Pairs) => number) => rounds.map((pairs) => pick(pairs[shape] as Pairs))
      return [
        contender.name,
        count(turns),
        figure(median(of(({ cpuUs }) => cpuUs / turns))),
        withRange(spread(of(({ cpuRatio }) => (cpuRatio * FIRST) / turns))),
      ]
    }),
  )
  const header = ['loop', 'turns', 'CPU µs per turn', `× ${FIRST} turns`]
  return {
    raw: measured.map(({ contender: { id }, rounds }) => ({ id, turns: TURNS, rounds })),
    markdown: `A conversation with more and more turns of one call.\n\n${table(header, rows)}`,
  }
}
