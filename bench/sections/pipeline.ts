import { measureInChild } from '../child.ts'
import { figure, withRange } from '../figures.ts'
import { inRounds } from '../in-rounds.ts'
import type { PipelineOptions, PipelineResult } from '../measures/pipeline.ts'
import type { Section } from '../section.ts'
import { median, spread } from '../statistics.ts'
import { table } from '../table.ts'

const FULL = { rounds: 5, turns: 9, batchMs: 40, warmMs: 250 }
const QUICK = { rounds: 1, turns: 4, batchMs: 20, warmMs: 100 }

const SHAPES: readonly (Pick<PipelineOptions, 'steps' | 'chained'> & { readonly id: string })[] = [
  { id: '1 step', steps: 1, chained: false },
  ...[5, 20].flatMap((steps) => [
    { id: `${steps} steps, one after the other`, steps, chained: true },
    { id: `${steps} steps, in parallel`, steps, chained: false },
  ]),
]

/** What a pipeline takes besides the calls of its steps. */
export const pipeline: Section = {
  id: 'pipeline',
  title: 'Pipelines',
  async run({ quick, progress }) {
    const { rounds, ...settings } = quick ? QUICK : FULL
    const measured = await inRounds(SHAPES, rounds, progress, ({ steps, chained }) =>
      measureInChild<PipelineResult>('pipeline', { steps, chained, ...settings }),
    )
    const rows = measured.map(({ contender: { id }, rounds }) => [
      id,
      figure(median(rounds.map(({ pipelineUs }) => pipelineUs))),
      figure(median(rounds.map(({ directUs }) => directUs))),
      withRange(spread(rounds.map(({ ratio }) => ratio))),
      figure(median(rounds.map(({ overheadUs }) => overheadUs))),
    ])
    const header = ['pipeline', 'µs', 'its calls without it, µs', '× direct calls', 'overhead per step, µs']
    const note =
      'Without the pipeline, `executor.execute` makes the calls one after the other. Each step is a complete call, with its checks and its record.'
    const raw = measured.map(({ contender: { id }, rounds }) => ({ id, rounds }))
    return { raw, markdown: `${table(header, rows)}\n\n${note}` }
  },
}
