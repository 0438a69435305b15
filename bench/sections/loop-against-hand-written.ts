import type { Pairs } from '../batches.ts'
import { measureInChild } from '../child.ts'
import { figure, withRange } from '../figures.ts'
import { inRounds } from '../in-rounds.ts'
import type { LoopContender } from '../loop-contender.ts'
import type { LoopResult } from '../measures/loop.ts'
import type { Effort, Finding } from '../section.ts'
import { median, spread } from '../statistics.ts'
import { table } from '../table.ts'
import { versionOf } from '../version-of.ts'

/** V8 compiles for about half a second after the shape of a conversation has changed, and its CPU time counts. */
const FULL = { rounds: 3, pairs: 4, batchMs: 40, warmMs: 500, firstWarmMs: 800 }
const QUICK = { rounds: 1, pairs: 2, batchMs: 10, warmMs: 20, firstWarmMs: 150 }

const SHAPES = [
  { title: '1 turn', turns: 1, calls: 1, tools: 1 },
  { title: '4 turns', turns: 4, calls: 1, tools: 1 },
  { title: '16 turns', turns: 16, calls: 1, tools: 1 },
  { title: '64 turns', turns: 64, calls: 1, tools: 1 },
  { title: '8 calls at once', turns: 1, calls: 8, tools: 1 },
  { title: '64 calls at once', turns: 1, calls: 64, tools: 1 },
]

/** Each loop as a multiple of the hand-written one, for conversations of several shapes. */
export async function againstHandWritten(loops: readonly LoopContender[], effort: Effort): Promise<Finding> {
  const { rounds, ...settings } = effort.quick ? QUICK : FULL
  const measured = await inRounds(loops, rounds, effort.progress, ({ id }) =>
    measureInChild<LoopResult>('loop', { id, shapes: SHAPES, ...settings }),
  )
  const rows = measured.map(({ contender, rounds }) => {
    const of = (shape: number, pick: (pairs: Pairs) => number) =>
      rounds.map(({ shapes }) => pick(shapes[shape] as Pairs))
    return [
      `${contender.name} ${versionOf(contender.package)}`.trim(),
      `\`${contender.call}\``,
      figure(median(of(0, ({ cpuUs }) => cpuUs))),
      ...SHAPES.map((_, shape) => withRange(spread(of(shape, ({ cpuRatio }) => cpuRatio)))),
      rounds.every(({ validates }) => validates) ? 'yes' : 'NO',
    ]
  })
  const header = ['loop', 'what is called', 'CPU µs, 1 turn', ...SHAPES.map(({ title }) => title), 'validates']
  return {
    raw: measured.map(({ contender: { id, package: name }, rounds }) => ({ id, version: versionOf(name), rounds })),
    markdown: `CPU time of a whole conversation, as a multiple of the hand-written loop, after ${settings.warmMs} ms of each shape.\n\n${table(header, rows)}`,
  }
}
