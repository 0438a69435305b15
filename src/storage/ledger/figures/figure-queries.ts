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
import { ALL_TENANTS, cellTenant } from './cell-tenant.ts'
import type { Figures } from './figures.ts'
import { ParameterSets } from './parameter-sets.ts'
import { WIDTHS } from './period.ts'
import { RunFigures } from './run-figures.ts'

const HOUR = WIDTHS.hour.ms

/** What each window is read from. A cell counts when its end lies in the window, so that it is never too short. */
const WINDOWS: { readonly [window in MetricWindow]: { readonly ms: number; readonly width: Cell['width'] } } = {
  '1h': { ms: HOUR, width: 'minute' },
  '24h': { ms: 24 * HOUR, width: 'hour' },
  '7d': { ms: 7 * 24 * HOUR, width: 'hour' },
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
    const calls = await this.#read(new CallFigures(), { tenant, window, kind: 'call', tool: '' }, now)
    return { window, ...calls.figures() }
  }

  async models({ tenant, window }: MetricsQuery, now: number): Promise<ModelMetrics> {
    const runs = await this.#read(new RunFigures(), { tenant, window, kind: 'run', tool: '' }, now)
    return { window, models: runs.figures(), ...(tenant === undefined && { tenants: runs.tenants.figures() }) }
  }

  async parameterSets(query: MetricsQuery & { readonly tool: string }, now: number): Promise<readonly ParameterSet[]> {
    const tool = storableText(query.tool)
    const sets = await this.#read(new ParameterSets(), { ...query, tool, kind: 'set', width: 'hour' }, now)
    return sets.top()
  }

  async #read<F extends Figures>(
    figures: F,
    query: MetricsQuery & { readonly kind: Cell['kind']; readonly tool: string; readonly width?: Cell['width'] },
    now: number,
  ): Promise<F> {
    const { ms, width } = WINDOWS[query.window]
    const tenant = query.tenant === undefined ? ALL_TENANTS : cellTenant(query.tenant)
    const read = query.width ?? width
    const from = firstStart(now - ms, WIDTHS[read].ms)
    const cells = await this.#tables.cells({ tenant, kind: query.kind, width: read, from, tool: query.tool })
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

/** The start of the first cell that ends after `time`. */
const firstStart = (time: number, width: number): number => Math.floor(time / width) * width
