import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import { complianceReport } from '../../app/service-levels/compliance-report.ts'
import { ObjectiveReader, type ObjectiveReport } from '../../app/service-levels/objectives.ts'
import { systemClock } from '../../core/clock.ts'
import { integritySentence, REPORT_FORMATS, type ReportFormat } from '../../server/routes/report-export.ts'
import type { Storage } from '../../storage/sql/engine.ts'
import { configFile, hasStore, readConfig, withStore } from '../common/open.ts'
import { readTime } from '../common/params.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  printable,
  showTable,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
const NO_STORE = 'There is no store yet: "toolyard serve" creates one.'

const REPORT_HELP = `
The report says who used what and when, and lists denied calls, approvals, changes of keys and flags, cost and objectives.
It verifies the whole audit log while it reads it. Exit code 1 if the audit log is not intact.

Examples:
  $ toolyard report --from 2026-01-01 --to 2026-02-01 --out january.html
  $ toolyard report --from 2026-01-01 --tenant acme --format csv > acme.csv`

export function defineReport(report: Command, terminal: Terminal, done: Done): void {
  report
    .option('--from <time>', 'start time, such as 2026-01-31 (default: 30 days before the end)')
    .option('--to <time>', 'end time, exclusive (default: now)')
    .option('--tenant <id>', 'only calls and events of this tenant')
    .addOption(new Option('--format <format>', 'output format (default html)').choices(Object.keys(REPORT_FORMATS)))
    .option('--out <file>', 'write to a file instead')
    .addHelpText('after', REPORT_HELP)
    .action(actions(terminal, done)(writeReport))
}

export function defineObjectives(objectives: Command, terminal: Terminal, done: Done): void {
  objectives
    .addHelpText('after', '\nObjectives are configured with "objectives". Exit code 1 if an alert is open.')
    .action(actions(terminal, done)(showObjectives))
}

interface ReportOptions extends GlobalOptions {
  readonly from?: string
  readonly to?: string
  readonly tenant?: string
  readonly format?: ReportFormat
  readonly out?: string
}

/** `toolyard report`. */
async function writeReport(terminal: Terminal, options: ReportOptions): Promise<number> {
  const { tenant, out, format = terminal.json ? 'json' : 'html' } = options
  if (terminal.json && format !== 'json') {
    throw new UsageError(`--json and --format ${format} contradict each other: remove one of them.`)
  }
  const to = readTime('--to', options.to) ?? systemClock.wall()
  const from = readTime('--from', options.from) ?? to - DEFAULT_DAYS * DAY_MS
  if (from >= to) throw new UsageError('--from must be earlier than --to.')
  if (!hasStore(terminal)) throw new UsageError(NO_STORE)
  const report = await withStore(terminal, options, async (storage) =>
    complianceReport(
      { tenant, from, to },
      { storage, clock: systemClock, objectives: await readObjectives(terminal, options, storage) },
    ),
  )
  const parts = REPORT_FORMATS[format].write(report)
  if (out !== undefined) await pipeline(Readable.from(parts), createWriteStream(terminal.path(out)))
  else for (const part of parts) terminal.stdout.write(terminal.watched ? printable(part) : part)
  if (report.notice !== null) terminal.note(`${report.notice}.`)
  terminal.note(integritySentence(report))
  return report.integrity.faults.length === 0 ? 0 : 1
}

/** `toolyard objectives`. */
async function showObjectives(terminal: Terminal, options: GlobalOptions): Promise<number> {
  if (!hasStore(terminal)) throw new UsageError(NO_STORE)
  const { objectives, alerts } = await withStore(terminal, options, async (storage) => {
    const reader = await readObjectives(terminal, options, storage)
    return { objectives: await reader.report(), alerts: (await reader.state()).alerts }
  })
  const open = alerts.filter(({ resolved_at }) => resolved_at === null)
  if (terminal.json) terminal.document({ objectives, alerts: alerts.map(({ calm_since: _, ...alert }) => alert) })
  else if (objectives.length === 0) terminal.note('No objectives: add "objectives" to the configuration.')
  else {
    const severities = (id: string) => open.flatMap(({ objective, severity }) => (objective === id ? severity : []))
    showTable(terminal, [OBJECTIVE_HEAD, ...objectives.map((one) => objectiveRow(one, severities(one.id)))])
  }
  return open.length === 0 ? 0 : 1
}

const OBJECTIVE_HEAD = ['OBJECTIVE', 'CALLS', 'BAD', 'BUDGET LEFT', 'BURN 1H', 'BURN 3D', 'ALERT']

const objectiveRow = (report: ObjectiveReport, open: readonly string[]): string[] => [
  report.id,
  String(report.calls),
  String(report.bad),
  `${(report.error_budget_left * 100).toFixed(1)} %`,
  report.burn_rates['1h']?.toFixed(1) ?? '-',
  report.burn_rates['3d']?.toFixed(1) ?? '-',
  open.length === 0 ? '-' : open.join(', '),
]

async function readObjectives(terminal: Terminal, options: GlobalOptions, storage: Storage): Promise<ObjectiveReader> {
  const reader = new ObjectiveReader({ settings: storage.settings, ledger: storage.ledger, clock: systemClock })
  reader.configure(await readConfig(configFile(terminal, options.config), { secrets: false }))
  return reader
}
