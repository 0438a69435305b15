import type { CategoryScore, ModelScores } from '../../src/models/model-scores.ts'
import { table } from '../table.ts'

const RULES = 'BFCL v4'

/** The scores with these measured anew: they take the place of those of the same name, new ones come last. */
export function mergeScores(known: ModelScores | undefined, measured: readonly CategoryScore[]): ModelScores {
  const rows = new Map(known?.categories.map((row) => [row.name, row]))
  for (const row of measured) rows.set(row.name, row)
  return { rules: RULES, categories: [...rows.values()] }
}

/** The scores as docs/guides/mini.md shows them. */
export function scoresTable({ categories }: ModelScores): string {
  return table(
    ['category', 'cases', 'right', 'wrong', 'measured'],
    categories.map((row) => [labelOf(row), String(row.cases), share(row), kindsOf(row), row.measured]),
  )
}

/** How many were right, to the nearest tenth of a percent. */
export const share = ({ right, cases }: Pick<CategoryScore, 'right' | 'cases'>): string =>
  `${((right / cases) * 100).toFixed(1)} %`

/** The kinds of mistakes, the most frequent first. */
export const kindsOf = ({ wrong }: Pick<CategoryScore, 'wrong'>): string =>
  Object.entries(wrong)
    .sort(([, one], [, other]) => other - one)
    .map(([kind, times]) => `${kind} ${times}`)
    .join(', ')

function labelOf({ name, own, call_wanted }: CategoryScore): string {
  const remarks = [...(own ? ['requests of our own'] : []), ...(call_wanted ? [] : ['no call is right'])]
  return remarks.length === 0 ? name : `${name} (${remarks.join(', ')})`
}
