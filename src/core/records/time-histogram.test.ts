import { expect, test } from 'vitest'
import { TimeHistogram } from './time-histogram.ts'

test('percentiles are never too low and at most 1/32 too high', () => {
  const histogram = new TimeHistogram()
  const times = Array.from({ length: 10_000 }, (_, index) => 1.0013 ** index / 100).sort((a, b) => a - b)
  for (const time of times) histogram.record(time)
  for (const share of [0.01, 0.5, 0.9, 0.95, 0.99, 1]) {
    const exact = times[Math.ceil(times.length * share) - 1] as number
    expect(histogram.percentileMs(share)).toBeGreaterThanOrEqual(exact)
    expect(histogram.percentileMs(share)).toBeLessThanOrEqual(exact * (1 + 1 / 32) + 0.001)
  }
})

test('adds two histograms', () => {
  const [one, two, all] = [new TimeHistogram(), new TimeHistogram(), new TimeHistogram()]
  for (let index = 0; index < 1_000; index++) {
    const time = (index * 7_919) % 1_000
    ;(index % 3 ? one : two).record(time)
    all.record(time)
  }
  one.add(two)
  expect(one.total).toBe(1_000)
  expect(one.averageMs).toBeCloseTo(all.averageMs, 9)
  for (const share of [0.1, 0.5, 0.99]) expect(one.percentileMs(share)).toBe(all.percentileMs(share))
})

test('handles no times, zero, and times out of range', () => {
  const histogram = new TimeHistogram()
  expect([histogram.percentileMs(0.5), histogram.averageMs]).toEqual([0, 0])
  histogram.record(0)
  histogram.record(1e12)
  expect(histogram.percentileMs(0.5)).toBe(0.001)
  expect(histogram.percentileMs(1)).toBeGreaterThan(2_000_000)
})

test('can be restored from its buckets', () => {
  const [whole, copy] = [new TimeHistogram(), new TimeHistogram()]
  for (const time of [0, 0.5, 12, 12, 70_000, 1e12]) whole.record(time)
  const [sum, ...buckets] = whole.toJSON()
  expect(buckets.filter((_, index) => index % 2 === 1)).toEqual([1, 1, 2, 1, 1])
  // In two parts, the later buckets first.
  copy.merge([sum as number, ...buckets.slice(6)])
  copy.merge([0, ...buckets.slice(0, 6)])
  expect(copy.total).toBe(6)
  expect(copy.averageMs).toBe(whole.averageMs)
  for (const share of [0.1, 0.4, 0.6, 0.9, 1]) expect(copy.percentileMs(share)).toBe(whole.percentileMs(share))
})

test.each([-1, 864, Number.NaN])('rejects the bucket %s', (bucket) => {
  expect(() => new TimeHistogram().merge([0, bucket, 1])).toThrow(RangeError)
})

test('counts a negative time as zero', () => {
  const histogram = new TimeHistogram()
  histogram.record(-5)
  expect([histogram.total, histogram.percentileMs(1)]).toEqual([1, 0.001])
})
