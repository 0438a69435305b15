import { measureInChild } from '../child.ts'
import { withRange } from '../figures.ts'
import { inRounds } from '../in-rounds.ts'
import type { DurableResult } from '../measures/durable.ts'
import type { Section } from '../section.ts'
import { spread } from '../statistics.ts'
import { openDatabases } from '../storage/databases.ts'
import { table } from '../table.ts'

const FULL = { rounds: 3, turns: 4, warmRuns: 50, runs: 300 }
const QUICK = { rounds: 1, turns: 4, warmRuns: 10, runs: 40 }
const MAX_COMMITS = 2

const STORES = [
  { id: 'sqlite', name: 'SQLite' },
  { id: 'postgres', name: 'PostgreSQL' },
]

/** What a durable run costs more than an ordinary one. */
export const durable: Section = {
  id: 'durable',
  title: 'Durable runs',
  async run(effort) {
    const { rounds, ...settings } = effort.quick ? QUICK : FULL
    const databases = await openDatabases()
    try {
      const measured = await inRounds(STORES, rounds, effort.progress, async ({ id }) => {
        const url = id === 'postgres' ? { url: await databases.next() } : {}
        return measureInChild<DurableResult>('durable', { ...settings, ...url })
      })
      const worst = Math.max(...measured.flatMap(({ rounds }) => rounds.map(({ commits }) => commits)))
      if (worst > MAX_COMMITS) throw new Error(`A durable turn costs ${worst} commits, not at most ${MAX_COMMITS}.`)
      const row = (what: string, pick: (result: DurableResult) => number) => [
        what,
        ...measured.map(({ rounds }) => withRange(spread(rounds.map(pick)))),
      ]
      const rows = [
        row('commits a turn', ({ commits }) => commits),
        row('CPU, multiple of an ordinary run', ({ ordinary, durable }) => durable.cpuUs / ordinary.cpuUs),
        row('latency, multiple of an ordinary run', ({ ordinary, durable }) => durable.latencyUs / ordinary.latencyUs),
        row('CPU of a durable run, µs', ({ durable }) => durable.cpuUs),
        row('latency of a durable run, µs', ({ durable }) => durable.latencyUs),
      ]
      return {
        raw: measured.map(({ contender: { id }, rounds }) => ({ id, rounds })),
        markdown: table([`${settings.turns} turns with one call`, ...STORES.map(({ name }) => name)], rows),
      }
    } finally {
      await databases.close()
    }
  },
}
