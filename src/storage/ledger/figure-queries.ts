import { setImmediate } from 'node:timers/promises'
import { type Log, writeLog } from '../../core/log.ts'
import type {
  CallCounts,
  CallSeriesMetrics,
  ExecutionMetrics,
  MetricsQuery,
  MetricWindow,
  ModelMetrics,
  ObjectiveCalls,
  ObjectiveQuery,
  ParameterSet,
  RunSeriesMetrics,
} from '../../core/storage/ledger.ts'
import { CallFigures, type Figures, ObjectiveCounts, RunFigures } from './figures.ts'
import type { Cell, LedgerTables } from './ledger-tables.ts'
import { PERIODS, queryTenant } from './live-figures.ts'
import { ParameterSets } from './parameter-sets.ts'
import { storableText } from './storable-text.ts'

const [ASKED, REST] = ['asked', 'rest'] as const

/** Answers questions from the cells of all instances. */
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

  async objectiveCalls(query: ObjectiveQuery, now: number): Promise<readonly ObjectiveCalls[]> {
    const windows: ObjectiveCounts[] = []
    for (const length of query.windows) {
      windows.push(await this.#read(new ObjectiveCounts(query), 'call', '', query.tenant, rangesOf(length, now)))
      // Objectives of many tools read many cells, and the thread has calls to write.
      await setImmediate()
    }
    const days = new Map<number, ObjectiveCounts>()
    const from = floor(now, DAY) - query.days * DAY
    const range = { width: 'day', from, to: Number.MAX_SAFE_INTEGER } as const
    for (const cell of await this.#cells('call', '', query.tenant, range)) {
      const counts = days.get(cell.start) ?? new ObjectiveCounts(query)
      days.set(cell.start, counts)
      this.#merge(counts, cell)
    }
    const inOrder = [...days].sort(([one], [other]) => one - other)
    return query.objectives.map((_, index) => ({
      windows: windows.map(({ counts }) => counts[index] as CallCounts),
      days: inOrder.map(([start, { counts }]) => ({
        start: new Date(start).toISOString(),
        ...(counts[index] as CallCounts),
      })),
    }))
  }

  async #read<F extends Merging>(
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

  /** Figures for each bucket of a window. Cells of a server whose clock runs ahead count in the last one. */
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
      // A week of a thousand tools takes long, and the thread has calls to write.
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

  #merge(figures: Merging, { data, kind, width, start, tenant }: Cell): void {
    try {
      figures.merge(data)
    } catch (err) {
      writeLog(this.#log, 'warn', { err, kind, width, start, tenant }, 'Skipped unreadable metrics')
    }
  }
}

type Merging = Pick<Figures, 'merge'>

function namesOf(asked: string | undefined): (name: string) => string {
  if (asked === undefined) return () => ASKED
  const kept = storableText(asked)
  return (name) => (name === kept ? ASKED : REST)
}

interface CellRange {
  readonly width: Cell['width']
  readonly from: number
  readonly to: number
}

const [HOUR, DAY] = [PERIODS.hour.ms, PERIODS.day.ms]
const LENGTHS: { readonly [window in MetricWindow]: number } = { '1h': HOUR, '24h': DAY, '7d': 7 * DAY }
/** How long after the end of a day all servers have written their cells of it. */
const COMPLETE_AFTER_MS = 10 * PERIODS.minute.ms

/**
 * The cells of a window: minutes for `1h`, hours for the others. Every minute or hour that ends in the window counts,
 * so that the window is never too short. Whole days in between are read as days.
 */
export const cellRanges = (window: MetricWindow, now: number): readonly CellRange[] => rangesOf(LENGTHS[window], now)

function rangesOf(length: number, now: number): readonly CellRange[] {
  const begin = now - length
  if (length <= HOUR) return [{ width: 'minute', from: floor(begin, PERIODS.minute.ms), to: Number.MAX_SAFE_INTEGER }]
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

/** A window in equal buckets, and the cells to read. */
interface SeriesPlan {
  readonly bucketMs: number
  /** The start of each bucket, the oldest first. */
  readonly starts: readonly number[]
  /** A few cells at a time: a week of hours need not be in memory at once. */
  readonly ranges: readonly CellRange[]
}

/** The length of a bucket. Minutes are stored for two hours only, so a day is shown in hours. */
const BUCKETS: { readonly [window in MetricWindow]: number } = { '1h': PERIODS.minute.ms, '24h': HOUR, '7d': 6 * HOUR }
const CELLS_AT_A_TIME = 12

/** The buckets of a window, up to the current one. */
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

/** The days that end in the window. */
const dayRange = (window: MetricWindow, now: number): CellRange => ({
  width: 'day',
  from: floor(now - LENGTHS[window], DAY),
  to: Number.MAX_SAFE_INTEGER,
})

const floor = (time: number, width: number): number => Math.floor(time / width) * width
