import { count } from '../figures.ts'
import type { AuditResult } from '../measures/audit.ts'
import type { Section } from '../section.ts'
import type { LoopPauses } from '../storage/loop-pauses.ts'
import { onBothStores, type StoreRow } from '../storage/on-both-stores.ts'

const FULL = { rounds: 3, warmRecords: 50_000, records: 500_000, steadyMs: 5_000, steadyRate: 10_000 }
const QUICK = { rounds: 1, warmRecords: 20_000, records: 50_000, steadyMs: 1_000, steadyRate: 10_000 }

const pauses = (when: string, pick: (result: AuditResult) => LoopPauses): StoreRow<AuditResult>[] => [
  [`longest pause of the main loop ${when}, ms`, (result) => pick(result).longestMs],
  ['its longest task, CPU ms', (result) => pick(result).longestCpuMs],
]

/** The throughput of the audit log, and the callers that wait for it. */
export const audit: Section = {
  id: 'audit',
  title: 'Audit',
  async run(effort) {
    const settings = effort.quick ? QUICK : FULL
    const { raw, markdown } = await onBothStores<AuditResult>('audit', effort, settings)
    const rows: StoreRow<AuditResult>[] = [
      ['records per second', ({ perSecond }) => perSecond],
      ['CPU of the server, µs per record', ({ cpuUs }) => cpuUs],
      ['of that on the main thread, µs per record', ({ mainUs }) => mainUs],
      ...pauses('at that speed', ({ full }) => full),
      ...pauses(`at ${count(settings.steadyRate)} records per second`, ({ steady }) => steady),
      ...pauses('without writes', ({ idle }) => idle),
      ['bytes on disk per record', ({ bytes }) => bytes],
    ]
    return { raw, markdown: markdown(`${count(settings.records)} records`, rows) }
  },
}
