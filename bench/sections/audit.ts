import { measureInChild } from '../child.ts'
import { count, withRange } from '../figures.ts'
import type { AuditResult } from '../measures/audit.ts'
import type { Section } from '../section.ts'
import { spread } from '../statistics.ts'
import { table } from '../table.ts'

const FULL = { rounds: 3, warmRecords: 50_000, records: 500_000, steadyMs: 5_000, steadyRate: 10_000 }
const QUICK = { rounds: 1, warmRecords: 20_000, records: 50_000, steadyMs: 1_000, steadyRate: 10_000 }

/** How fast records of calls are written down, and who waits for that. */
export const audit: Section = {
  id: 'audit',
  title: 'Audit',
  async run(effort) {
    const { rounds, ...settings } = effort.quick ? QUICK : FULL
    const raw: AuditResult[] = []
    for (let round = 1; round <= rounds; round++) {
      effort.progress(`round ${round} of ${rounds}`)
      raw.push(await measureInChild<AuditResult>('audit', settings))
    }
    const row = (what: string, key: keyof AuditResult) => [what, withRange(spread(raw.map((round) => round[key])))]
    const rows = [
      row('records a second', 'perSecond'),
      row('CPU, µs a record', 'cpuUs'),
      row('of it on the main thread, µs a record', 'mainUs'),
      row('longest pause of the main loop at that speed, ms', 'fullPauseMs'),
      row(`at ${count(settings.steadyRate)} records a second, ms`, 'steadyPauseMs'),
      row('with nothing to write, ms', 'idlePauseMs'),
    ]
    const header = [`${count(settings.records)} records into SQLite`, 'median (min–max)']
    return { raw, markdown: table(header, rows) }
  },
}
