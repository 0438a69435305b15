import { measureInChild } from '../child.ts'
import { count, figure } from '../figures.ts'
import type { MetricsResult } from '../measures/metrics.ts'
import type { Section } from '../section.ts'
import { median } from '../statistics.ts'
import { MODELS, TENANTS, TOOLS } from '../storage/executions.ts'
import type { LoopPauses } from '../storage/loop-pauses.ts'
import { table } from '../table.ts'

const FULL = { executions: 10_000_000, times: 20 }
const QUICK = { executions: 200_000, times: 5 }
/** Filling the store takes minutes. */
const LONGEST_MS = 1_800_000

/** What figures cost where there is much behind them. */
export const metrics: Section = {
  id: 'metrics',
  title: 'Metrics of a week',
  async run(effort) {
    const settings = effort.quick ? QUICK : FULL
    effort.progress(`filling a store with ${count(settings.executions)} executions, which takes minutes`)
    const raw = await measureInChild<MetricsResult>('metrics', settings, LONGEST_MS)
    const rows = raw.rows.map(({ window, whose, executions, byTool, byModel }) => [
      window,
      whose === 'tenant' ? 'one tenant' : 'the whole installation',
      count(executions),
      ...[byTool, byModel].flatMap((times) => [
        figure(median(times.map(({ ms }) => ms))),
        figure(Math.max(...times.map(({ ms }) => ms))),
        figure(median(times.map(({ cpuMs }) => cpuMs))),
      ]),
    ])
    const header = ['window', 'of', 'executions in it', 'by tool, ms', 'max', 'CPU ms', 'by model, ms', 'max', 'CPU ms']
    return {
      raw,
      markdown:
        `SQLite, ${count(settings.executions)} executions over 7 days by ${TENANTS} tenants with ${TOOLS} tools and ` +
        `${MODELS.length} models; each query run ${settings.times} times.\n\n${table(header, rows)}\n\n` +
        table(
          ['pauses of the main loop', 'longest, ms', 'longest task, CPU ms'],
          [
            pauses('while 7 days of the whole installation are queried', raw.asked),
            pauses('without a query', raw.idle),
          ],
        ),
    }
  },
}

const pauses = (when: string, { longestMs, longestCpuMs }: LoopPauses) => [
  when,
  figure(longestMs),
  figure(longestCpuMs),
]
