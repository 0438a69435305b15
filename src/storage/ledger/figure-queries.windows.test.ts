import fc from 'fast-check'
import { expect, test } from 'vitest'
import { METRIC_WINDOWS } from '../../core/storage/ledger.ts'
import { cellRanges, seriesPlan } from './figure-queries.ts'
import { PERIODS } from './live-figures.ts'

const HOUR = PERIODS.hour.ms
const at = (text: string) => Date.parse(text)

test('a week is whole days, with hours before and after them', () => {
  expect(cellRanges('7d', at('2026-01-09T10:20:00Z'))).toEqual([
    { width: 'hour', from: at('2026-01-02T10:00:00Z'), to: at('2026-01-03T00:00:00Z') },
    { width: 'day', from: at('2026-01-03T00:00:00Z'), to: at('2026-01-09T00:00:00Z') },
    { width: 'hour', from: at('2026-01-09T00:00:00Z'), to: Number.MAX_SAFE_INTEGER },
  ])
})

test('a day that has only just ended is still read as hours', () => {
  const lastDay = (now: string) => cellRanges('7d', at(now)).find(({ width }) => width === 'day')?.to
  expect(lastDay('2026-01-09T00:09:59Z')).toBe(at('2026-01-08T00:00:00Z'))
  expect(lastDay('2026-01-09T00:10:00Z')).toBe(at('2026-01-09T00:00:00Z'))
})

test('ranges are adjacent, and begin with the first cell that ends in the window', () => {
  fc.assert(
    fc.property(fc.constantFrom(...METRIC_WINDOWS), fc.integer({ min: 1e12, max: 2e12 }), (window, now) => {
      const ranges = cellRanges(window, now)
      const [width, length] = window === '1h' ? [60_000, HOUR] : [HOUR, window === '24h' ? 24 * HOUR : 168 * HOUR]
      const first = ranges[0]?.from as number
      expect(first % width).toBe(0)
      expect(now - length - first).toBeGreaterThanOrEqual(0)
      expect(now - length - first).toBeLessThan(width)
      for (const [index, { from, to }] of ranges.entries()) {
        expect(from).toBeLessThan(to)
        expect(ranges[index + 1]?.from ?? to).toBe(to)
      }
      expect(ranges.at(-1)?.to).toBe(Number.MAX_SAFE_INTEGER)
    }),
  )
})

test('a week has buckets of six hours in UTC, the first cut short at the start of the window', () => {
  const { bucketMs, starts, ranges } = seriesPlan('7d', at('2026-01-09T10:20:00Z'))
  expect(bucketMs).toBe(6 * HOUR)
  expect(starts.slice(0, 2)).toEqual([at('2026-01-02T10:00:00Z'), at('2026-01-02T12:00:00Z')])
  expect([starts.length, starts.at(-1)]).toEqual([29, at('2026-01-09T06:00:00Z')])
  expect(ranges).toHaveLength(15)
})

test('buckets are adjacent up to now, and cover the cells of the window', () => {
  fc.assert(
    fc.property(fc.constantFrom(...METRIC_WINDOWS), fc.integer({ min: 1e12, max: 2e12 }), (window, now) => {
      const { bucketMs, starts, ranges } = seriesPlan(window, now)
      const counted = cellRanges(window, now)
      expect([starts[0], ranges[0]?.from, ranges.at(-1)?.to]).toEqual([
        counted[0]?.from,
        counted[0]?.from,
        counted.at(-1)?.to,
      ])
      for (const [index, start] of starts.slice(1).entries()) {
        expect(start % bucketMs).toBe(0)
        expect(start - (starts[index] as number)).toBeLessThanOrEqual(bucketMs)
      }
      const last = starts.at(-1) as number
      expect(last <= now && now < last + bucketMs).toBe(true)
      for (const [index, { from, to }] of ranges.entries()) {
        expect(from).toBeLessThan(to)
        expect(ranges[index + 1]?.from ?? to).toBe(to)
      }
    }),
  )
})
