import { readFile } from 'node:fs/promises'
import { parseJson } from '../../../core/json/json-depth.ts'
import type { ValidationReport } from '../../../validation/reports/build-report.ts'
import { type ComparedCell, compareReports } from '../../../validation/reports/compare-reports.ts'
import { readStore } from '../../common/open.ts'
import { type TenantOptions, tenantOf } from '../../common/params.ts'
import { showTable, type Terminal, UsageError } from '../../common/terminal.ts'

export interface CompareOptions extends TenantOptions {
  /** Also cases without a difference. */
  readonly all?: boolean
}

const HEAD = ['CHANGE', 'SUITE', 'CASE', 'MODEL', 'BASELINE', 'CONTENDER', 'WHY']
const RUN_ID = /^[\da-f-]{36}$/i

/** `toolyard validations compare`: two reports, case by case. */
export async function validationsCompare(
  terminal: Terminal,
  baseline: string,
  contender: string,
  options: CompareOptions,
): Promise<number> {
  const reports = [await reportOf(terminal, baseline, options), await reportOf(terminal, contender, options)] as const
  const comparison = compareReports(...reports)
  if (terminal.json) {
    terminal.document(comparison)
    return 0
  }
  const shown = comparison.cases.filter(({ change }) => options.all === true || change !== 'same')
  const rows = shown.map(({ change, suite, case: id, model, baseline: one, contender: two }) => [
    change ?? '-',
    suite,
    id,
    model ?? 'all',
    cellText(one),
    cellText(two),
    (change === 'better' ? one?.message : two?.message) ?? '',
  ])
  if (rows.length > 0) showTable(terminal, [HEAD, ...rows])
  const { better, worse, same, other } = comparison.counts
  terminal.note(`${better} better, ${worse} worse, ${same} the same, ${other} in one run only or not judged.`)
  if (comparison.changed_suites.length > 0) terminal.note(`Changed suites: ${comparison.changed_suites.join(', ')}.`)
  terminal.note(`${comparison.sentence}.`)
  return 0
}

const cellText = (cell: ComparedCell | null): string =>
  cell === null || cell.judged === 0 ? '-' : `${cell.passed} of ${cell.judged}`

/** A report file, or the id of a suite run of the server. */
async function reportOf(terminal: Terminal, name: string, options: TenantOptions): Promise<ValidationReport> {
  const report = RUN_ID.test(name) ? await storedReport(terminal, name, options) : await fileReport(terminal, name)
  const { version, trials, suites, models } = Object(report) as Partial<ValidationReport>
  if (version === 1 && [trials, suites, models].every(Array.isArray)) return report as ValidationReport
  throw new UsageError(
    `"${name}" is not a report. Use a file of "toolyard validate --report", or the id of a suite run.`,
  )
}

async function fileReport(terminal: Terminal, file: string): Promise<unknown> {
  const text = await readFile(terminal.path(file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`"${file}" can't be read: ${error.code}.`, { cause: error })
  })
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

async function storedReport(terminal: Terminal, id: string, options: TenantOptions): Promise<unknown> {
  const job = await readStore(terminal, options, ({ jobs }) => jobs.get(tenantOf(options), id), undefined)
  if (job === undefined) throw new UsageError(`There is no suite run "${id}".`)
  return job.result?.success ? job.result.result : undefined
}
