import type { MetricWindow } from '../../../core/storage/metrics.ts'
import type { Cell } from '../ledger-tables.ts'
import { PERIODS } from './period.ts'

/** Cells of one width that start from `from` on and before `to`. */
export interface CellRange {
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
export interface SeriesPlan {
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
export const dayRange = (window: MetricWindow, now: number): CellRange => ({
  width: 'day',
  from: floor(now - LENGTHS[window], DAY),
  to: Number.MAX_SAFE_INTEGER,
})

const floor = (time: number, width: number): number => Math.floor(time / width) * width
