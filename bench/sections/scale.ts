import type { Pairs } from '../batches.ts'
import { measureInChild } from '../child.ts'
import { count, figure, withRange } from '../figures.ts'
import type { ScaleRow } from '../measures/scale.ts'
import type { Section } from '../section.ts'
import { median, spread } from '../statistics.ts'
import { table } from '../table.ts'

const FULL = { rounds: 3, sizes: [10, 100, 1_000, 10_000], pairs: 6, batchMs: 20, warmMs: 80 }
const QUICK = { rounds: 1, sizes: [10, 1_000], pairs: 2, batchMs: 10, warmMs: 20 }

/** Whether a call costs more where more tools are registered. */
export const scale: Section = {
  id: 'scale',
  title: 'More tools',
  async run(effort) {
    const { rounds, ...settings } = effort.quick ? QUICK : FULL
    const raw: ScaleRow[][] = []
    for (let round = 1; round <= rounds; round++) {
      effort.progress(`round ${round} of ${rounds}`)
      raw.push(await measureInChild<ScaleRow[]>('scale', settings))
    }
    const rows = settings.sizes.map((size) => {
      const found = raw.flatMap((round) => round.filter(({ tools }) => tools === size))
      const of = (pick: (row: ScaleRow) => Pairs) => found.map(pick)
      const times = (pairs: readonly Pairs[]) => withRange(spread(pairs.map(({ wallRatio }) => wallRatio)))
      return [
        count(size),
        figure(median(of((row) => row.lookup).map(({ wallUs }) => wallUs * 1000))),
        times(of((row) => row.lookup)),
        figure(median(of((row) => row.path).map(({ wallUs }) => wallUs))),
        times(of((row) => row.path)),
        times(of((row) => row.everyTool)),
      ]
    })
    const header = [
      'tools',
      'lookup, ns',
      '× 10 tools',
      'whole call, µs',
      '× 10 tools',
      'every tool in turn, × 10 tools',
    ]
    return { raw, markdown: table(header, rows) }
  },
}
