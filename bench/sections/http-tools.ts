import type { Pairs } from '../batches.ts'
import { measureInChild } from '../child.ts'
import { figure, withRange } from '../figures.ts'
import { inRounds } from '../in-rounds.ts'
import type { Section } from '../section.ts'
import { median, spread } from '../statistics.ts'
import { table } from '../table.ts'

const FULL = { rounds: 5, pairs: 8, batchMs: 200, warmMs: 1_500 }
const QUICK = { rounds: 1, pairs: 3, batchMs: 100, warmMs: 400 }

/** What an HTTP tool costs beyond the request that it makes. */
export const httpTools: Section = {
  id: 'http-tools',
  title: 'HTTP tools',
  async run(effort) {
    const { rounds, ...settings } = effort.quick ? QUICK : FULL
    const [measured] = await inRounds([{ id: 'http-tools' }], rounds, effort.progress, () =>
      measureInChild<Pairs>('http-tools', settings),
    )
    const results = measured?.rounds ?? []
    const of = (pick: (result: Pairs) => number) => results.map(pick)
    const header = ['GET of 1 KB of JSON, 32 in flight', 'µs', 'CPU µs', '× undici', '× undici, CPU']
    const row = [
      'an HTTP tool through the executor, its guard on',
      figure(median(of(({ wallUs }) => wallUs))),
      figure(median(of(({ cpuUs }) => cpuUs))),
      withRange(spread(of(({ wallRatio }) => wallRatio))),
      withRange(spread(of(({ cpuRatio }) => cpuRatio))),
    ]
    return { raw: results, markdown: table(header, [row]) }
  },
}
