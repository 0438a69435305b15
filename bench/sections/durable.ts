import type { DurableResult } from '../measures/durable.ts'
import type { Section } from '../section.ts'
import { onBothStores, type StoreRow } from '../storage/on-both-stores.ts'

const FULL = { rounds: 3, turns: 4, warmRuns: 50, runs: 300 }
const QUICK = { rounds: 1, turns: 4, warmRuns: 10, runs: 40 }
const MAX_COMMITS = 2

/** What a durable run costs more than an ordinary one. */
export const durable: Section = {
  id: 'durable',
  title: 'Durable runs',
  async run(effort) {
    const settings = effort.quick ? QUICK : FULL
    const { raw, results, markdown } = await onBothStores<DurableResult>('durable', effort, settings)
    const worst = Math.max(...results.flatMap(({ reads, writes }) => [reads.commits, writes.commits]))
    if (worst > MAX_COMMITS) throw new Error(`A durable turn costs ${worst} commits, not at most ${MAX_COMMITS}.`)
    const rows = (['reads', 'writes'] as const).flatMap((kind): StoreRow<DurableResult>[] => [
      [`${kind}: commits per turn`, (result) => result[kind].commits],
      [
        `${kind}: CPU, multiple of an ordinary run`,
        ({ [kind]: { durable, ordinary } }) => durable.cpuUs / ordinary.cpuUs,
      ],
      [
        `${kind}: latency, multiple of an ordinary run`,
        ({ [kind]: { durable, ordinary } }) => durable.latencyUs / ordinary.latencyUs,
      ],
      [`${kind}: CPU of a durable run, µs`, (result) => result[kind].durable.cpuUs],
      [`${kind}: latency of a durable run, µs`, (result) => result[kind].durable.latencyUs],
    ])
    return { raw, markdown: markdown(`${settings.turns} turns with one call`, rows) }
  },
}
