import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import { DEFAULT_CURRENCY } from '../../app/callers/budgets.ts'
import {
  COST_BY,
  COST_PERIODS,
  type CostRange,
  type CostReport,
  costDays,
  costReport,
  MAX_COST_ROWS,
} from '../../app/cost-report.ts'
import { complianceReport } from '../../app/service-levels/compliance-report.ts'
import { ObjectiveReader, type ObjectiveReport } from '../../app/service-levels/objectives.ts'
import { systemClock } from '../../core/clock.ts'
import { integritySentence, REPORT_FORMATS, type ReportFormat } from '../../server/routes/report-export.ts'
import type { Storage } from '../../storage/sql/engine.ts'
import { configFile, hasStore, readConfig, readStore, withStore } from '../common/open.ts'
import { readInteger, readTime, type TenantOptions, tenantName } from '../common/params.ts'
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

const COSTS_HELP = `
Days are those of UTC. The cost of a call comes from "cost" of its tool, that of a turn from "prices" of its model.
Costs that are not known are counted separately, never as 0.

Examples:
  $ toolyard costs --by tool --period day
  $ toolyard costs --by model --from 2026-01-01 --to 2026-02-01
  $ toolyard costs --by tenant`

export function defineCosts(costs: Command, terminal: Terminal, done: Done): void {
  costs
    .addHelpText('after', COSTS_HELP)
    .addOption(new Option('--by <what>', 'what to list (default tool)').choices(COST_BY))
    .addOption(new Option('--period <period>', 'this period so far (default month)').choices(COST_PERIODS))
    .option('--from <day>', 'first day, such as 2026-01-31, instead of --period')
    .option('--to <day>', 'first day that does not count (default tomorrow)')
    .option('--tenant <id>', 'only this tenant (default: all)')
    .option('--limit <n>', `maximum number of rows, 1 to ${MAX_COST_ROWS} (default 10)`)
    .action(actions(terminal, done)(costsList))
}

export interface CostsOptions extends TenantOptions, CostRange {
  readonly by?: CostReport['by']
  readonly limit?: string
}

const COST_HEAD = ['NAME', 'COST', 'CALLS', 'UNKNOWN']

/** `toolyard costs`: what was spent, the most expensive first. */
export async function costsList(terminal: Terminal, options: CostsOptions): Promise<number> {
  const { by = 'tool', period, from, to } = options
  const limit = readInteger('--limit', options.limit ?? '10', 1, MAX_COST_ROWS)
  const tenant = options.tenant === undefined ? undefined : tenantName(options.tenant)
  let days: ReturnType<typeof costDays>
  try {
    days = costDays({ period, from, to }, Date.now())
  } catch (error) {
    throw new UsageError(`${(error as Error).message}.`)
  }
  const { costs } = await readConfig(configFile(terminal, options.config))
  const currency = costs?.currency ?? DEFAULT_CURRENCY
  const query = { tenant, by, ...days, limit }
  const nothing = { total: { spent: 0, calls: 0, unknown: 0 }, names: [], days: [] }
  const report = await readStore(
    terminal,
    options,
    async ({ spending, keys }) => {
      const names = new Map((by === 'key' ? await keys.list() : []).map(({ id, name }) => [id, name]))
      return costReport(spending, query, { currency, keyName: (id) => names.get(id) ?? id })
    },
    await costReport({ hold: async () => [], report: async () => nothing }, query, { currency }),
  )
  if (terminal.json) terminal.document(report)
  else if (report.rows.length === 0) terminal.note(`No costs from ${report.from} to ${report.to}.`)
  else {
    showTable(terminal, [COST_HEAD, ...report.rows.map((row) => rowOf(row.label ?? row.name, row, currency))])
    const { total } = report
    const unknown = total.unknown_calls === 0 ? '' : `, and ${total.unknown_calls} of unknown cost`
    terminal.note(`${inCurrency(total.cost, currency)} in all, ${report.from} to ${report.to}${unknown}.`)
  }
  return 0
}

const rowOf = (name: string, { cost, calls, unknown_calls }: CostReport['total'], currency: string): string[] => [
  name,
  inCurrency(cost, currency),
  String(calls),
  String(unknown_calls),
]

/** No digit is cut: sums must be exact. */
const inCurrency = (cost: number | null, currency: string): string =>
  cost === null ? 'unknown' : `${cost.toLocaleString('en', { maximumFractionDigits: 6 })} ${currency}`
