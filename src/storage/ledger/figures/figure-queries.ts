import { setImmediate } from 'node:timers/promises'
import { type Log, writeLog } from '../../../core/log.ts'
import type {
  CallSeriesMetrics,
  ExecutionMetrics,
  MetricsQuery,
  ModelMetrics,
  ParameterSet,
  RunSeriesMetrics,
} from '../../../core/storage/metrics.ts'
import type { Cell, LedgerTables } from '../ledger-tables.ts'
import { storableText } from '../storable-text.ts'
import { CallFigures } from './call-figures.ts'
import { queryTenant } from './cell-tenant.ts'
import type { Figures } from './figures.ts'
import { ParameterSets } from './parameter-sets.ts'
import { RunFigures } from './run-figures.ts'
import { type CellRange, cellRanges, dayRange, seriesPlan } from './windows.ts'

/** What a series is about, and the rest. */
const [ASKED, REST] = ['asked', 'rest'] as const

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

  async callSeries(
    { tenant, window, tool }: MetricsQuery & { readonly tool?: string },
    now: number,
  ): Promise<CallSeriesMetrics> {
    const nameOf = namesOf(tool)
    const { bucketMs, filled } = await this.#series(() => new CallFigures(nameOf), 'call', { tenant, window }, now)
    const buckets = filled.map(({ start, figures }) => ({ start, ...figures.of(ASKED).figures() }))
    return { window, tool: tool ?? null, bucket_ms: bucketMs, buckets }
  }

  async runSeries(
    { tenant, window, model }: MetricsQuery & { readonly model?: string },
    now: number,
  ): Promise<RunSeriesMetrics> {
    const nameOf = namesOf(model)
    const { bucketMs, filled } = await this.#series(() => new RunFigures(nameOf), 'run', { tenant, window }, now)
    const buckets = filled.map(({ start, figures }) => {
      const { tools: _, ...rest } = figures.of(ASKED).figures()
      return { start, ...rest }
    })
    return { window, model: model ?? null, bucket_ms: bucketMs, buckets }
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
      for (const cell of await this.#cells(kind, tool, tenant, range)) this.#merge(figures, cell)
    }
    return figures
  }

  /** Figures for each stretch of a window. What a server wrote whose clock runs ahead counts in the last one. */
  async #series<F extends Figures>(
    make: () => F,
    kind: Cell['kind'],
    { tenant, window }: MetricsQuery,
    now: number,
  ): Promise<{
    readonly bucketMs: number
    readonly filled: readonly { readonly start: string; readonly figures: F }[]
  }> {
    const { bucketMs, starts, ranges } = seriesPlan(window, now)
    const buckets = starts.map(make)
    const first = Math.floor((starts[0] as number) / bucketMs)
    for (const range of ranges) {
      for (const cell of await this.#cells(kind, '', tenant, range)) {
        const bucket = buckets[Math.floor(cell.start / bucketMs) - first] ?? buckets.at(-1)
        this.#merge(bucket as F, cell)
      }
      // A week of a thousand tools takes long to put together, and the thread has calls to write.
      await setImmediate()
    }
    const filled = buckets.map((figures, index) => ({
      start: new Date(starts[index] as number).toISOString(),
      figures,
    }))
    return { bucketMs, filled }
  }

  async #cells(
    kind: Cell['kind'],
    tool: string,
    tenant: string | undefined,
    range: CellRange,
  ): Promise<readonly Cell[]> {
    const cells = await this.#tables.cells({ tenant: queryTenant(tenant), kind, tool, ...range })
    return cells.filter(({ start }) => start < range.to)
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

function namesOf(asked: string | undefined): (name: string) => string {
  if (asked === undefined) return () => ASKED
  const kept = storableText(asked)
  return (name) => (name === kept ? ASKED : REST)
}
