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
import { configFile, readConfig, readStore } from '../common/open.ts'
import { readInteger, type TenantOptions, tenantName } from '../common/params.ts'
import { actions, type Done, showTable, type Terminal, UsageError } from '../common/terminal.ts'

const HELP = `
Days are those of UTC. The cost of a call comes from "cost" of its tool, that of a turn from "prices" of its model.
Costs that are not known are counted separately, never as 0.

Examples:
  $ toolyard costs --by tool --period day
  $ toolyard costs --by model --from 2026-01-01 --to 2026-02-01
  $ toolyard costs --by tenant`

export function defineCosts(costs: Command, terminal: Terminal, done: Done): void {
  costs
    .addHelpText('after', HELP)
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

const HEAD = ['NAME', 'COST', 'CALLS', 'UNKNOWN']

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
    showTable(terminal, [HEAD, ...report.rows.map((row) => rowOf(row.label ?? row.name, row, currency))])
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
