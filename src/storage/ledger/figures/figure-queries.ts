import { setImmediate } from 'node:timers/promises'
import { type Log, writeLog } from '../../../core/log.ts'
import type {
  CallSeriesMetrics,
  ExecutionMetrics,
  MetricsQuery,
  MetricWindow,
  ModelMetrics,
  ParameterSet,
  RunSeriesMetrics,
} from '../../../core/storage/ledger.ts'
import type { Cell, LedgerTables } from '../ledger-tables.ts'
import { storableText } from '../storable-text.ts'
import { CallFigures, type Figures, RunFigures } from './figures.ts'
import { PERIODS, queryTenant } from './live-figures.ts'
import { ParameterSets } from './parameter-sets.ts'

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

/** Cells of one width that start from `from` on and before `to`. */
interface CellRange {
  readonly width: Cell['width']
  readonly from: number
  readonly to: number
}

const [HOUR, DAY] = [PERIODS.hour.ms, PERIODS.day.ms]
const LENGTHS: { readonly [window in MetricWindow]: number } = { '1h': HOUR, '24h': DAY, '7d': 7 * DAY }
/** The day cells of all servers are complete when a day has been over so long. */
const COMPLETE_AFTER_MS = 10 * PERIODS.minute.ms

/**
 * What a window is put together from: `1h` from minutes, the others from hours. What counts is every minute or hour
 * whose end lies in the window, so that it is never too short; whole days in between are read as days.
 */
export function cellRanges(window: MetricWindow, now: number): readonly CellRange[] {
  const begin = now - LENGTHS[window]
  if (window === '1h') return [{ width: 'minute', from: floor(begin, PERIODS.minute.ms), to: Number.MAX_SAFE_INTEGER }]
  const from = floor(begin, HOUR)
  const firstDay = floor(from + DAY - 1, DAY)
  const daysEnd = floor(now - COMPLETE_AFTER_MS, DAY)
  if (firstDay >= daysEnd) return [{ width: 'hour', from, to: Number.MAX_SAFE_INTEGER }]
  const ranges: readonly CellRange[] = [
    { width: 'hour', from, to: firstDay },
    { width: 'day', from: firstDay, to: daysEnd },
    { width: 'hour', from: daysEnd, to: Number.MAX_SAFE_INTEGER },
  ]
  return ranges.filter(({ from, to }) => from < to)
}

/** A window cut into equal stretches, and what they are read from. */
interface SeriesPlan {
  readonly bucketMs: number
  /** When each stretch begins, the oldest first. */
  readonly starts: readonly number[]
  /** Goes over the same cells as the window, a few at a time: a week of hours need not be in memory at once. */
  readonly ranges: readonly CellRange[]
}

/** How long the stretches of a window are. Minutes are kept for two hours only, so a day is cut into hours. */
const BUCKETS: { readonly [window in MetricWindow]: number } = { '1h': PERIODS.minute.ms, '24h': HOUR, '7d': 6 * HOUR }
const CELLS_AT_A_TIME = 12

/** How a window is shown over time: the current stretch, and all before it back to where the window begins. */
export function seriesPlan(window: MetricWindow, now: number): SeriesPlan {
  const bucketMs = BUCKETS[window]
  const width = window === '1h' ? 'minute' : 'hour'
  const from = floor(now - LENGTHS[window], PERIODS[width].ms)
  const starts = [from]
  for (let start = floor(from, bucketMs) + bucketMs; start <= now; start += bucketMs) starts.push(start)
  const ranges: CellRange[] = []
  const step = CELLS_AT_A_TIME * PERIODS[width].ms
  for (let at = from; at <= now; at += step) {
    ranges.push({ width, from: at, to: at + step > now ? Number.MAX_SAFE_INTEGER : at + step })
  }
  return { bucketMs, starts, ranges }
}

/** The days whose end lies in the window. */
const dayRange = (window: MetricWindow, now: number): CellRange => ({
  width: 'day',
  from: floor(now - LENGTHS[window], DAY),
  to: Number.MAX_SAFE_INTEGER,
})

const floor = (time: number, width: number): number => Math.floor(time / width) * width
