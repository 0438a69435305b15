import { type BudgetState, DEFAULT_CURRENCY } from '../app/callers/budgets.ts'
import {
  COST_BY,
  COST_PERIODS,
  type CostRange,
  type CostReport,
  costDays,
  costReport,
  MAX_COST_ROWS,
} from '../app/cost-report.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../core/clock.ts'
import { BUDGET_PERIODS, BUDGET_SCOPES } from '../core/costs.ts'
import { matchesGlobs } from '../core/execution/permit.ts'
import { invalid } from '../core/operation/operation-error.ts'
import type { KeyStore } from '../core/storage/key-store.ts'
import type { SpendingStore } from '../core/storage/spending-store.ts'
import { COUNT, list, object, operation, TEXT, TIME } from './operation.ts'

const COST_FIGURES = {
  cost: {
    type: ['number', 'null'],
    description: 'In units of the currency; null if the cost of all calls is unknown.',
  },
  calls: { ...COUNT, description: 'Calls that ran, and turns of models; for by=run, runs.' },
  unknown_calls: { ...COUNT, description: 'Those of them whose cost is unknown.' },
}
const DAY = { type: 'string', format: 'date', maxLength: 10 } as const

const BUDGET_STATE = {
  tenant: TEXT,
  scope: { enum: BUDGET_SCOPES },
  name: { ...TEXT, description: 'Of the tenant, tool or model. Of a key, its name.' },
  per: { enum: BUDGET_PERIODS },
  amount: { type: 'number' },
  spent: { type: 'number' },
  currency: TEXT,
  resets_at: TIME,
  action: { enum: ['refuse', 'warn'] },
}

interface CostsInput extends CostRange {
  readonly by: CostReport['by']
  readonly limit: number
}

interface Around {
  readonly config: Config
  readonly now: number
  readonly tenant: string | undefined
  readonly keyName?: (id: string) => string
}

/** Reads the costs. */
async function read(
  spending: Pick<SpendingStore, 'report'>,
  { by, limit, ...range }: CostsInput,
  { config: { costs }, now, tenant, ...names }: Around,
): Promise<CostReport> {
  const currency = costs?.currency ?? DEFAULT_CURRENCY
  return costReport(spending, { tenant, by, ...daysOf(range, now), limit }, { currency, ...names })
}

function daysOf(range: CostRange, now: number): ReturnType<typeof costDays> {
  try {
    return costDays(range, now)
  } catch (error) {
    throw invalid((error as Error).message)
  }
}

const NOTHING = { report: async () => ({ total: { spent: 0, calls: 0, unknown: 0 }, names: [], days: [] }) }

/** The names of keys and users, also of revoked ones. */
async function namesOf(keys: KeyStore): Promise<(id: string) => string> {
  const named = (await Promise.all([keys.list(), keys.users()])).flat()
  const names = new Map(named.map(({ id, name }) => [id, name]))
  return (id) => names.get(id) ?? id
}

const HEAD = ['NAME', 'COST', 'CALLS', 'UNKNOWN']

/** No digit is cut: sums must be exact. */
const inCurrency = (cost: number | null, currency: string): string =>
  cost === null ? 'unknown' : `${cost.toLocaleString('en', { maximumFractionDigits: 6 })} ${currency}`

const operations = {
  costs: operation({
    ...{ id: 'costs.report', method: 'GET', path: '/api/costs', scope: 'observe', tag: 'metrics' },
    summary: 'What calls of tools and turns of models cost',
    description: 'Days are those of UTC. Costs are stored for 13 months, those of runs as long as the runs.',
    query: {
      by: { enum: COST_BY, default: 'tool', description: 'tenant across tenants needs the scope installation.' },
      period: { enum: COST_PERIODS, description: 'This day, week or month so far. Default: month, without from.' },
      from: { ...DAY, description: 'The first day, instead of period.' },
      to: { ...DAY, description: 'The first day that does not count. Default: tomorrow.' },
      limit: {
        ...{ type: 'integer', minimum: 1, maximum: MAX_COST_ROWS, default: 100 },
        description: 'The maximum number of rows.',
      },
    },
    tenant: 'any',
    answer: object(
      {
        by: { enum: COST_BY },
        currency: TEXT,
        from: DAY,
        to: DAY,
        total: object(COST_FIGURES),
        rows: list({ name: TEXT, label: { ...TEXT, description: 'The name of a key.' }, ...COST_FIGURES }),
        days: list({ day: DAY, ...COST_FIGURES }, 'Days without calls are left out'),
      },
      'The costs, the most expensive row first',
    ),
    needs: 'store',
    async run(host, { by, period, from, to, limit }, { tenant, caller }): Promise<CostReport> {
      const { spending, keys } = host.storage
      // The name of a tool or model says that it exists.
      const patterns = by === 'tool' ? caller?.tools : by === 'model' ? caller?.models : undefined
      const asked = { by, period, from, to, limit: patterns === undefined ? limit : MAX_COST_ROWS }
      await host.settle()
      const around = { config: await host.currentConfig(), now: host.clock.wall(), tenant }
      const report = await read(spending, asked, { ...around, ...(by === 'key' && { keyName: await namesOf(keys) }) })
      if (patterns === undefined) return report
      return { ...report, rows: report.rows.filter(({ name }) => matchesGlobs(patterns, name)).slice(0, limit) }
    },
    cli: {
      command: 'costs',
      description: 'Show what tools and models cost',
      options: {
        by: { flags: '--by <what>', description: 'what to list (default tool)', choices: COST_BY },
        period: {
          ...{ flags: '--period <period>', description: 'this period so far (default month)' },
          choices: COST_PERIODS,
        },
        from: { flags: '--from <day>', description: 'first day, such as 2026-01-31, instead of --period' },
        to: { flags: '--to <day>', description: 'first day that does not count (default tomorrow)' },
        tenant: { flags: '--tenant <id>', description: 'only this tenant (default: all)' },
        limit: { flags: '--limit <n>', description: `maximum number of rows, 1 to ${MAX_COST_ROWS} (default 10)` },
      },
      read: (typed) => {
        daysOf(typed as CostRange, systemClock.wall())
        return { limit: '10', ...typed }
      },
      nothing: (config, input) => read(NOTHING, input, { config, now: systemClock.wall(), tenant: undefined }),
      show: ({ rows, total, currency, from, to }) => {
        if (rows.length === 0) return { notes: [`No costs from ${from} to ${to}.`] }
        const rowOf = ({ name, label = name, cost, calls, unknown_calls }: CostReport['rows'][number]) => [
          ...[label, inCurrency(cost, currency), String(calls), String(unknown_calls)],
        ]
        const unknown = total.unknown_calls === 0 ? '' : `, and ${total.unknown_calls} of unknown cost`
        return {
          table: [HEAD, ...rows.map(rowOf)],
          notes: [`${inCurrency(total.cost, currency)} in all, ${from} to ${to}${unknown}.`],
        }
      },
    },
  }),
  budgets: operation({
    ...{ id: 'costs.budgets', method: 'GET', path: '/api/budgets', scope: 'observe', tag: 'metrics' },
    summary: 'What is spent of each budget in its period now',
    description:
      'A budget for several names has a row for each that has spent something, 100 at most. With tenant=*: the budgets of whole tenants.',
    tenant: 'any',
    answer: object({ budgets: list(BUDGET_STATE) }, 'The budgets'),
    needs: 'installation',
    async run(host, _input, { tenant, caller }): Promise<{ readonly budgets: readonly BudgetState[] }> {
      await host.settle()
      const states = await host.budgets.states(tenant)
      const patterns = { tool: caller?.tools, model: caller?.models, key: undefined, tenant: undefined }
      // The name of a tool or model says that it exists.
      return { budgets: states.filter(({ scope, name }) => matchesGlobs(patterns[scope] ?? ['*'], name)) }
    },
  }),
}

/** What tools and models cost, and what is left of budgets. */
export const costs = {
  operations,
  help: `
Days are those of UTC. The cost of a call comes from "cost" of its tool, that of a turn from "prices" of its model.
Costs that are not known are counted separately, never as 0.

Examples:
  $ toolyard costs --by tool --period day
  $ toolyard costs --by model --from 2026-01-01 --to 2026-02-01
  $ toolyard costs --by tenant`,
}
