import { type Log, writeLog } from '../../../core/log.ts'
import type {
  ExecutionMetrics,
  MetricsQuery,
  MetricWindow,
  ModelMetrics,
  ParameterSet,
} from '../../../core/storage/metrics.ts'
import type { Cell, LedgerTables } from '../ledger-tables.ts'
import { storableText } from '../storable-text.ts'
import { CallFigures } from './call-figures.ts'
import { queryTenant } from './cell-tenant.ts'
import type { Figures } from './figures.ts'
import { ParameterSets } from './parameter-sets.ts'
import { PERIODS, type PeriodName } from './period.ts'
import { RunFigures } from './run-figures.ts'

/** What each window is read from. A cell counts when its end lies in the window, so that it is never too short. */
const WINDOWS: { readonly [window in MetricWindow]: { readonly ms: number; readonly from: PeriodName } } = {
  '1h': { ms: PERIODS.hour.ms, from: 'minute' },
  '24h': { ms: PERIODS.day.ms, from: 'hour' },
  '7d': { ms: 7 * PERIODS.day.ms, from: 'hour' },
}

/** Puts the cells of all instances together. */
export class FigureQueries {
  readonly #tables: LedgerTables
  readonly #log: Log

  constructor(tables: LedgerTables, log: Log) {
    this.#tables = tables
    this.#log = log
  }

  async executions({ tenant, window }: MetricsQuery, now: number): Promise<ExecutionMetrics> {
    const calls = await this.#read(new CallFigures(), 'call', '', tenant, since(window, now))
    return { window, ...calls.figures() }
  }

  async models({ tenant, window }: MetricsQuery, now: number): Promise<ModelMetrics> {
    const runs = await this.#read(new RunFigures(), 'run', '', tenant, since(window, now))
    return { window, models: runs.figures(), ...(tenant === undefined && { tenants: runs.tenants.figures() }) }
  }

  async parameterSets(
    { tenant, window, tool }: MetricsQuery & { readonly tool: string },
    now: number,
  ): Promise<readonly ParameterSet[]> {
    const days = since(window, now, 'day')
    const sets = await this.#read(new ParameterSets(), 'set', storableText(tool), tenant, days)
    return sets.top()
  }

  async #read<F extends Figures>(
    figures: F,
    kind: Cell['kind'],
    tool: string,
    tenant: string | undefined,
    { from, width }: { readonly from: number; readonly width: Cell['width'] },
  ): Promise<F> {
    const cells = await this.#tables.cells({ tenant: queryTenant(tenant), kind, width, from, tool })
    for (const cell of cells) this.#merge(figures, cell)
    return figures
  }

  #merge(figures: Figures, { data, kind, width, start, tenant }: Cell): void {
    try {
      figures.merge(data)
    } catch (err) {
      writeLog(
        this.#log,
        'warn',
        { err, kind, width, start, tenant },
        'A cell of figures cannot be read: it is left out',
      )
    }
  }
}

/** The start of the first cell that ends after the window begins. */
function since(window: MetricWindow, now: number, period: PeriodName = WINDOWS[window].from) {
  const { ms, width } = PERIODS[period]
  return { from: Math.floor((now - WINDOWS[window].ms) / ms) * ms, width }
}
