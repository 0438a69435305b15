import { measureInChild } from '../child.ts'
import { count, withRange } from '../figures.ts'
import { inRounds } from '../in-rounds.ts'
import type { AuditResult } from '../measures/audit.ts'
import type { Section } from '../section.ts'
import { spread } from '../statistics.ts'
import { openDatabases } from '../storage/databases.ts'
import type { LoopPauses } from '../storage/loop-pauses.ts'
import { table } from '../table.ts'

const FULL = { rounds: 3, warmRecords: 50_000, records: 500_000, steadyMs: 5_000, steadyRate: 10_000 }
const QUICK = { rounds: 1, warmRecords: 20_000, records: 50_000, steadyMs: 1_000, steadyRate: 10_000 }

const STORES = [
  { id: 'sqlite', name: 'SQLite' },
  { id: 'postgres', name: 'PostgreSQL' },
]

/** The throughput of the audit log, and the callers that wait for it. */
export const audit: Section = {
  id: 'audit',
  title: 'Audit',
  async run(effort) {
    const { rounds, ...settings } = effort.quick ? QUICK : FULL
    const databases = await openDatabases()
    try {
      const measured = await inRounds(STORES, rounds, effort.progress, async ({ id }) => {
        const url = id === 'postgres' ? { url: await databases.next() } : {}
        return measureInChild<AuditResult>('audit', { ...settings, ...url })
      })
      const row = (what: string, pick: (result: AuditResult) => number) => [
        what,
        ...measured.map(({ rounds }) => withRange(spread(rounds.map(pick)))),
      ]
      const pauses = (when: string, pick: (result: AuditResult) => LoopPauses) => [
        row(`longest pause of the main loop ${when}, ms`, (result) => pick(result).longestMs),
        row('its longest task, CPU ms', (result) => pick(result).longestCpuMs),
      ]
      const rows = [
        row('records per second', ({ perSecond }) => perSecond),
        row('CPU of the server, µs per record', ({ cpuUs }) => cpuUs),
        row('of that on the main thread, µs per record', ({ mainUs }) => mainUs),
        ...pauses('at that speed', ({ full }) => full),
        ...pauses(`at ${count(settings.steadyRate)} records per second`, ({ steady }) => steady),
        ...pauses('without writes', ({ idle }) => idle),
        row('bytes on disk per record', ({ bytes }) => bytes),
      ]
      return {
        raw: measured.map(({ contender: { id }, rounds }) => ({ id, rounds })),
        markdown: table([`${count(settings.records)} records`, ...STORES.map(({ name }) => name)], rows),
      }
    } finally {
      await databases.close()
    }
  },
}
