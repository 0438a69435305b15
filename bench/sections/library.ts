import { measureInChild } from '../child.ts'
import { figure, withRange } from '../figures.ts'
import { inRounds } from '../in-rounds.ts'
import type { LibraryOptions, LibraryResult } from '../measures/library.ts'
import type { Section } from '../section.ts'
import { median, spread } from '../statistics.ts'
import { table } from '../table.ts'

const FULL = { rounds: 5, turns: 9, batchMs: 40, warmMs: 250 }
const QUICK = { rounds: 1, turns: 6, batchMs: 20, warmMs: 100 }

/** What is called, with the schema of which library. */
const WAYS: readonly (Pick<LibraryOptions, 'library' | 'executor'> & { readonly id: string })[] = [
  { id: 'executor, JSON Schema', library: 'JSON Schema', executor: true },
  ...(['JSON Schema', 'zod', 'valibot', 'arktype'] as const).map((library) => ({
    id: `yard.call, ${library}`,
    library,
  })),
]

/** One call of a tool made by `tool()`, with the schemas of several libraries. */
export const library: Section = {
  id: 'library',
  title: 'One call of a typed tool',
  async run({ quick, progress }) {
    const { rounds, ...settings } = quick ? QUICK : FULL
    const measured = await inRounds(WAYS, rounds, progress, (way) =>
      measureInChild<LibraryResult>('library', { ...way, ...settings }),
    )
    const rows = measured.map(({ contender: { executor, library }, rounds }) => [
      executor ? '`executor.execute(name, params)`' : '`yard.call(name, input)`',
      library,
      figure(median(rounds.map(({ callUs }) => callUs))),
      figure(median(rounds.map(({ validateUs }) => validateUs))),
      withRange(spread(rounds.map(({ ratio }) => ratio))),
      withRange(spread(rounds.map(({ ratioWithout }) => ratioWithout))),
    ])
    const header = ['what is called', 'schema', 'µs', 'own validate, µs', '× floor', '× floor, without own validate']
    return { raw: measured.map(({ contender: { id }, rounds }) => ({ id, rounds })), markdown: table(header, rows) }
  },
}
