import { BUDGET_SCOPES, inUnits } from '../core/costs.ts'
import type { SpendingQuery, SpendingStore, SpendingSums } from '../core/storage/spending-store.ts'

export const COST_BY = [...BUDGET_SCOPES, 'run'] as const
export const COST_PERIODS = ['day', 'week', 'month'] as const

const DAY_MS = 86_400_000
const DAY = /^\d{4}-\d\d-\d\d$/
/** Counters are stored for 13 months. */
const MAX_DAYS = 400
export const MAX_COST_ROWS = 1_000

export interface CostRange {
  readonly period?: (typeof COST_PERIODS)[number] | undefined
  /** Days of UTC, such as 2026-01-31; `to` is the first day that does not count. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

interface Cost {
  /** In units of the currency; null if the cost of all calls is unknown. */
  readonly cost: number | null
  readonly calls: number
  readonly unknown_calls: number
}

export interface CostReport {
  readonly by: (typeof COST_BY)[number]
  readonly currency: string
  readonly from: string
  readonly to: string
  readonly total: Cost
  /** The most expensive first. `label` is the name of a key. */
  readonly rows: readonly (Cost & { readonly name: string; readonly label?: string })[]
  /** Days without calls are left out. */
  readonly days: readonly (Cost & { readonly day: string })[]
}

/** The days that a report covers. Throws a RangeError that says what is wrong. */
export function costDays({ period, from, to }: CostRange, now: number): { readonly from: number; readonly to: number } {
  const today = Math.floor(now / DAY_MS) * DAY_MS
  if (from === undefined && to === undefined) {
    const date = new Date(today)
    const weekday = (date.getUTCDay() + 6) % 7
    const back = period === 'day' ? 0 : period === 'week' ? weekday : date.getUTCDate() - 1
    return { from: today - back * DAY_MS, to: today + DAY_MS }
  }
  if (period !== undefined) throw new RangeError('period and from or to contradict each other: send one of them')
  if (from === undefined) throw new RangeError('to needs from: send both, or from alone')
  const range = { from: dayOf('from', from), to: to === undefined ? today + DAY_MS : dayOf('to', to) }
  if (range.to <= range.from)
    throw new RangeError(`to must be after from, and ${to ?? 'tomorrow'} is not after ${from}`)
  if (range.to - range.from > MAX_DAYS * DAY_MS) throw new RangeError(`A report covers at most ${MAX_DAYS} days`)
  return range
}

function dayOf(name: string, text: string): number {
  const time = DAY.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time) && isoDay(time) === text) return time
  throw new RangeError(`${name}=${text} is not a day: costs are stored by day of UTC, such as 2026-01-31`)
}

const isoDay = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** What was spent, in total, by day, and by tool, model, tenant, key or run. */
export async function costReport(
  store: Pick<SpendingStore, 'report'>,
  query: Omit<SpendingQuery, 'limit'> & { readonly limit?: number },
  { currency, keyName }: { readonly currency: string; readonly keyName?: (id: string) => string },
): Promise<CostReport> {
  const { by, from, to, limit = MAX_COST_ROWS } = query
  const { total, names, days } = await store.report({ ...query, limit })
  return {
    ...{ by, currency, from: isoDay(from), to: isoDay(to), total: shown(total) },
    rows: names.map(({ name, ...sums }) => ({
      name,
      ...(by === 'key' && keyName !== undefined && { label: keyName(name) }),
      ...shown(sums),
    })),
    days: days.map(({ start, ...sums }) => ({ day: isoDay(start), ...shown(sums) })),
  }
}

const shown = ({ spent, calls, unknown }: SpendingSums): Cost => ({
  cost: calls > 0 && unknown === calls ? null : inUnits(spent),
  calls,
  unknown_calls: unknown,
})
