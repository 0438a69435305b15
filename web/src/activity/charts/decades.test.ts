import { expect, test } from 'vitest'
import { decades, ticksOf } from './decades.ts'

const SERIES = [{ key: 'p50' }, { key: 'p99' }]

test('an axis of several magnitudes begins and ends at a power of ten', () => {
  const range = decades(
    [
      { p50: 0.4, p99: 1_870 },
      { p50: null, p99: null },
    ],
    SERIES,
  )
  expect(range).toEqual([0.1, 10_000])
  expect(ticksOf(range).map((tick) => Number(tick.toPrecision(3)))).toEqual([0.1, 1, 10, 100, 1_000, 10_000])
})

test('one value, zero and no values have an axis, too', () => {
  expect(decades([{ p50: 10 }], SERIES)).toEqual([10, 100])
  expect(decades([{ p50: 0 }], SERIES)).toEqual([0.01, 0.1])
  expect(decades([], SERIES)).toEqual([0.01, 1])
})
