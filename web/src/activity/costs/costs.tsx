import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { BudgetState } from '../../../../src/app/callers/budgets.ts'
import type { CostReport } from '../../../../src/app/cost-report.ts'
import { serverIsUp } from '../../api/connection.ts'
import { useMay } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { Button } from '../../parts/button.tsx'
import { inDate, inNumber } from '../../parts/figures.ts'
import { FilterText } from '../../parts/filter-text.tsx'
import { BreakableName } from '../../parts/section.tsx'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import { useAddress } from '../address.ts'
import type { Drawn } from '../charts/drawn.ts'
import { Tiles } from '../charts/tiles.tsx'
import { TimeChart } from '../charts/time-chart.tsx'
import { costByDay } from './cost-by-day.ts'

const PERIODS = ['day', 'week', 'month'] as const
const TITLES = { day: 'Today', week: 'This week', month: 'This month' } as const
const BY = { tool: 'Tools', model: 'Models', key: 'Keys', run: 'Runs', tenant: 'Tenants' } as const
const COST: readonly Drawn[] = [{ key: 'cost', label: 'Cost', colour: 'var(--accent)', as: 'bar' }]
const TOP = 10
const UUID = /^[\da-f]{8}-[\da-f-]{27}$/
/** Hidden tabs don't refresh. */
const LIVE_MS = 15_000

interface CostView {
  readonly period: string
  readonly tenant: string
  readonly by: keyof typeof BY
}

const costsQuery = ({ period, tenant, by }: CostView) =>
  queryOptions({
    queryKey: ['costs', period, tenant, by],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ by, period, limit: String(TOP), ...(tenant !== '' && { tenant }) })
      return requestJson<CostReport>(`/api/costs?${query}`, { signal })
    },
    placeholderData: keepPreviousData,
    refetchInterval: () => serverIsUp() && LIVE_MS,
  })

/** Costs are exact to six decimals: none of them is cut. */
const inCurrency = (cost: number | null, currency: string): string =>
  cost === null
    ? 'unknown'
    : new Intl.NumberFormat('en', { style: 'currency', currency, maximumFractionDigits: 6 }).format(cost)

/** What tools and models cost, over time and by name. */
export function Costs() {
  const mayObserve = useMay('observe')
  if (!mayObserve) return <Empty title="Your key can’t view costs">It lacks the scope observe.</Empty>
  return <AllCosts />
}

function AllCosts() {
  const wholeInstallation = useMay('installation')
  const [params, change] = useAddress()
  const period = PERIODS.find((one) => one === params.get('period')) ?? 'month'
  const tenant = params.get('tenant') ?? ''
  const shown = (Object.keys(BY) as (keyof typeof BY)[]).filter((by) => by !== 'tenant' || tenant === '*')
  return (
    <div className="grid grid-cols-1 gap-6">
      <div className="flex flex-wrap items-center gap-2">
        <fieldset className="flex gap-1">
          <legend className="sr-only">Period</legend>
          {PERIODS.map((one) => (
            <Button
              key={one}
              aria-pressed={period === one}
              className="aria-pressed:border-accent aria-pressed:text-accent"
              onClick={() => change({ period: one === 'month' ? '' : one })}
            >
              {TITLES[one]}
            </Button>
          ))}
        </fieldset>
        {wholeInstallation && (
          <div className="w-52">
            <FilterText
              label="Tenant"
              placeholder="Tenant, or * for all"
              value={tenant}
              onChange={(value) => change({ tenant: value })}
            />
          </div>
        )}
      </div>
      <Budgets tenant={tenant} />
      <Total view={{ period, tenant, by: 'tenant' }} />
      <div className="grid grid-cols-1 items-start gap-3 lg:grid-cols-2">
        {shown.map((by) => (
          <Top key={by} view={{ period, tenant, by }} />
        ))}
      </div>
    </div>
  )
}

const budgetsQuery = (tenant: string) =>
  queryOptions({
    queryKey: ['budgets', tenant],
    queryFn: ({ signal }) => {
      const query = tenant === '' ? '' : `?${new URLSearchParams({ tenant })}`
      return requestJson<{ budgets: readonly BudgetState[] }>(`/api/budgets${query}`, { signal })
    },
    placeholderData: keepPreviousData,
    refetchInterval: () => serverIsUp() && LIVE_MS,
  })

/** What is left of each budget. Nothing without budgets: most installations have none. */
function Budgets({ tenant }: { readonly tenant: string }) {
  const { data, error, refetch } = useQuery(budgetsQuery(tenant))
  if (error) return <Failed error={error} what="the budgets" again={() => void refetch()} />
  if (data === undefined || data.budgets.length === 0) return null
  return (
    <section className="panel min-w-0 p-4" aria-label="Budgets">
      <h2 className="font-semibold">Budgets</h2>
      <ul className="mt-2 grid grid-cols-1 gap-x-6 gap-y-3 text-sm lg:grid-cols-2">
        {data.budgets.map((budget) => (
          <Budget
            key={[budget.tenant, budget.scope, budget.name, budget.per, budget.action].join(' ')}
            {...{ budget }}
          />
        ))}
      </ul>
    </section>
  )
}

function Budget({ budget }: { readonly budget: BudgetState }) {
  const { scope, name, per, amount, spent, currency, action, resets_at } = budget
  const isSpent = spent >= amount
  const then = action === 'refuse' ? 'calls are refused' : 'calls have a warning'
  return (
    <li>
      <div className="flex flex-wrap justify-between gap-x-3">
        <span>
          {scope} <BreakableName name={name} />
        </span>
        <span className={isSpent ? 'text-bad tabular-nums' : 'tabular-nums'}>
          {inCurrency(spent, currency)} of {inCurrency(amount, currency)} a {per}
        </span>
      </div>
      <meter
        className="h-2 w-full"
        aria-label={`Spent of the budget of ${scope} ${name} a ${per}`}
        min={0}
        max={amount}
        value={Math.min(spent, amount)}
      />
      <p className="text-muted">
        {isSpent ? `Spent: ${then} until ` : 'Resets '}
        <time dateTime={resets_at}>{inDate(resets_at)}</time>
      </p>
    </li>
  )
}

function Total({ view }: { readonly view: CostView }) {
  const { data, error, refetch } = useQuery(costsQuery(view))
  if (data === undefined) {
    return error ? <Failed error={error} what="the costs" again={() => void refetch()} /> : <Loading what="the costs" />
  }
  const { total, currency, days } = data
  if (total.calls === 0) {
    return (
      <Empty title="No costs in this period" action={{ label: 'Ask a model', href: '/tools-testing' }}>
        Calls of tools and turns of models appear here.
      </Empty>
    )
  }
  const rows = costByDay(days, data.from, data.to)
  return (
    <>
      {error && <Failed error={error} what="newer costs" />}
      <h2 className="text-lg font-semibold">Costs in this period</h2>
      <Tiles
        label="Costs in this period"
        tiles={{
          Cost: inCurrency(total.cost, currency),
          'Calls and turns': inNumber(total.calls),
          'Of unknown cost': inNumber(total.unknown_calls),
        }}
      />
      {total.cost === null ? (
        <Empty
          title="No cost is known"
          action={{ label: 'Read how costs are set', href: '/guide/guides/costs-and-budgets.html' }}
        >
          Tools without <code>cost</code> and models without <code>prices</code> have unknown costs.
        </Empty>
      ) : (
        <TimeChart
          title="Cost by day"
          note={`Days are in UTC${days.some(({ cost }) => cost === null) ? '. A gap is a day of unknown cost' : ''}`}
          window="days"
          missing="unknown"
          format={(cost) => inCurrency(cost, currency)}
          {...{ rows, drawn: COST }}
        />
      )}
    </>
  )
}

/** Where a name leads to. The names of a tenant's keys lead to their calls. */
const leadsTo: Readonly<Partial<Record<keyof typeof BY, (name: string) => string>>> = {
  tool: (name) => `/tool/${encodeURIComponent(name)}`,
  model: (name) => `/activity/runs?model=${encodeURIComponent(name)}`,
  key: (name) => `/activity/calls?caller=${encodeURIComponent(name)}`,
  run: (name) => `/runs/${encodeURIComponent(name)}`,
}

const Named = ({ href, name }: { readonly href: string | undefined; readonly name: string }) =>
  href === undefined ? (
    name
  ) : (
    <Link href={href} className="text-accent underline-offset-2 hover:underline">
      <BreakableName name={name} />
    </Link>
  )

/** The ten most expensive. */
function Top({ view }: { readonly view: CostView }) {
  const { data, error, refetch } = useQuery(costsQuery(view))
  const title = BY[view.by]
  if (data === undefined) {
    const what = `the costs of ${title.toLowerCase()}`
    return error ? <Failed error={error} what={what} again={() => void refetch()} /> : <Loading what={what} />
  }
  // Without keys, no call has one.
  if (view.by === 'key' && data.rows.length === 0) return null
  return (
    <section className="panel min-w-0 p-4" aria-label={`Most expensive: ${title}`}>
      <h3 className="font-semibold">{title}</h3>
      {data.rows.length === 0 ? (
        <p className="text-sm text-muted">None in this period.</p>
      ) : (
        <table className="mt-2 w-full text-sm">
          <thead className="text-left text-muted">
            <tr>
              <th className="py-1 pr-3 font-normal">Name</th>
              <th className="py-1 pr-3 text-right font-normal">Cost</th>
              <th className="py-1 pr-3 text-right font-normal">{view.by === 'run' ? 'Runs' : 'Calls'}</th>
              <th className="py-1 text-right font-normal">Unknown</th>
            </tr>
          </thead>
          <tbody>
            {data.rows.map(({ name, label, cost, calls, unknown_calls }) => (
              <tr key={name} className="border-t border-line">
                <td className="py-1 pr-3 wrap-anywhere">
                  <Named
                    href={leadsTo[view.by]?.(name)}
                    name={label ?? (view.by === 'run' && UUID.test(name) ? `run ${name.slice(0, 8)}` : name)}
                  />
                </td>
                <td className="py-1 pr-3 text-right tabular-nums">{inCurrency(cost, data.currency)}</td>
                <td className="py-1 pr-3 text-right tabular-nums">{inNumber(calls)}</td>
                <td className="py-1 text-right tabular-nums">{inNumber(unknown_calls)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
