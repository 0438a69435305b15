import { type Log, writeLog } from '../../../core/log.ts'
import type { ExecutionMetrics, MetricsQuery, ModelMetrics, ParameterSet } from '../../../core/storage/metrics.ts'
import type { Cell, LedgerTables } from '../ledger-tables.ts'
import { storableText } from '../storable-text.ts'
import { CallFigures } from './call-figures.ts'
import { queryTenant } from './cell-tenant.ts'
import type { Figures } from './figures.ts'
import { ParameterSets } from './parameter-sets.ts'
import { RunFigures } from './run-figures.ts'
import { type CellRange, cellRanges, dayRange } from './windows.ts'

/** Puts the cells of all instances together. */
export class FigureQueries {
  readonly #tables: LedgerTables
  readonly #log: Log

  constructor(tables: LedgerTables, log: Log) {
    this.#tables = tables
    this.#log = log
  }

  async executions({ tenant, window }: MetricsQuery, now: number): Promise<ExecutionMetrics> {
    const calls = await this.#read(new CallFigures(), 'call', '', tenant, cellRanges(window, now))
    return { window, ...calls.figures() }
  }

  async models({ tenant, window }: MetricsQuery, now: number): Promise<ModelMetrics> {
    const runs = await this.#read(new RunFigures(), 'run', '', tenant, cellRanges(window, now))
    return { window, models: runs.figures(), ...(tenant === undefined && { tenants: runs.tenants.figures() }) }
  }

  async parameterSets(
    { tenant, window, tool }: MetricsQuery & { readonly tool: string },
    now: number,
  ): Promise<readonly ParameterSet[]> {
    const days = [dayRange(window, now)]
    const sets = await this.#read(new ParameterSets(), 'set', storableText(tool), tenant, days)
    return sets.top()
  }

  async #read<F extends Figures>(
    figures: F,
    kind: Cell['kind'],
    tool: string,
    tenant: string | undefined,
    ranges: readonly CellRange[],
  ): Promise<F> {
    for (const range of ranges) {
      const cells = await this.#tables.cells({ tenant: queryTenant(tenant), kind, tool, ...range })
      for (const cell of cells) if (cell.start < range.to) this.#merge(figures, cell)
    }
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
