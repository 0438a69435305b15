import { measureInChild } from '../child.ts'
import { chosen } from '../chosen.ts'
import type { Contender } from '../contender.ts'
import { contenders } from '../contenders/index.ts'
import { figure, withRange } from '../figures.ts'
import { inRounds, type Measured } from '../in-rounds.ts'
import type { DirectResult } from '../measures/direct.ts'
import type { Section } from '../section.ts'
import { median, spread } from '../statistics.ts'
import { table } from '../table.ts'
import { versionOf } from '../version-of.ts'

const FULL = { rounds: 5, pairs: 6, batchMs: 40, warmMs: 250 }
const QUICK = { rounds: 1, pairs: 3, batchMs: 20, warmMs: 100 }

/** One validated call through each contender, as a multiple of the floor. */
export const direct: Section = {
  id: 'direct',
  title: 'One call',
  async run(effort) {
    const { rounds, ...settings } = effort.quick ? QUICK : FULL
    const measured = await inRounds(chosen(contenders, effort.contenders), rounds, effort.progress, ({ id }) =>
      measureInChild<DirectResult>('direct', { id, ...settings }),
    )
    return {
      raw: measured.map(({ contender: { id, package: name }, rounds }) => ({ id, version: versionOf(name), rounds })),
      markdown: render(measured),
    }
  },
}

function render(measured: readonly Measured<Contender, DirectResult>[]): string {
  const rows = measured.map(({ contender, rounds }) => {
    const of = (pick: (result: DirectResult) => number) => rounds.map(pick)
    return [
      `${contender.name} ${versionOf(contender.package)}`.trim(),
      `\`${contender.call}\``,
      figure(median(of(({ wallUs }) => wallUs))),
      figure(median(of(({ cpuUs }) => cpuUs))),
      withRange(spread(of(({ wallRatio }) => wallRatio))),
      withRange(spread(of(({ cpuRatio }) => cpuRatio))),
      rounds.every(({ validates }) => validates) ? 'yes' : 'NO',
      contender.deadline,
      contender.permission,
      contender.record,
    ]
  })
  const header = ['contender', 'what is called', 'µs', 'CPU µs', '× floor', '× floor, CPU', 'validates']
  return table([...header, 'deadline', 'permission', 'record'], rows)
}
