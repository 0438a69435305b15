import { measureInChild } from '../child.ts'
import { withRange } from '../figures.ts'
import { inRounds } from '../in-rounds.ts'
import type { Effort } from '../section.ts'
import { spread } from '../statistics.ts'
import { table } from '../table.ts'
import { openDatabases } from './databases.ts'

const STORES = [
  { id: 'sqlite', name: 'SQLite' },
  { id: 'postgres', name: 'PostgreSQL' },
]

/** One row of the table: what it shows, and how a result of the measurement says it. */
export type StoreRow<Result> = readonly [what: string, pick: (result: Result) => number]

/** Measures on SQLite and on PostgreSQL, each round in a process and a store of its own. */
export async function onBothStores<Result>(
  measure: string,
  { progress }: Effort,
  { rounds, ...settings }: { readonly rounds: number },
) {
  const databases = await openDatabases()
  try {
    const measured = await inRounds(STORES, rounds, progress, async ({ id }) => {
      const url = id === 'postgres' ? { url: await databases.next() } : {}
      return measureInChild<Result>(measure, { ...settings, ...url })
    })
    return {
      raw: measured.map(({ contender: { id }, rounds }) => ({ id, rounds })),
      results: measured.flatMap(({ rounds }) => rounds),
      markdown: (title: string, rows: readonly StoreRow<Result>[]) =>
        table(
          [title, ...STORES.map(({ name }) => name)],
          rows.map(([what, pick]) => [what, ...measured.map(({ rounds }) => withRange(spread(rounds.map(pick))))]),
        ),
    }
  } finally {
    await databases.close()
  }
}
