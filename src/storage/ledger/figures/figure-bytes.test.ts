import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BUCKETS, TimeHistogram } from '../../../core/time-histogram.ts'
import { addHistogram, ByteReader, ByteWriter, writeHistogram } from './figure-bytes.ts'

const bucketsOf = (histogram: TimeHistogram): [number, number][] => {
  const buckets: [number, number][] = []
  histogram.forEachBucket((bucket, count) => buckets.push([bucket, count]))
  return buckets
}

const count = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 2 ** 40 }))
const narrow = fc.array(fc.tuple(fc.integer({ min: 300, max: 330 }), count), { maxLength: 40 })
const wide = fc.array(fc.tuple(fc.nat(BUCKETS - 1), count), { maxLength: 10 })

/** Histograms in a row, as bytes. */
function written(histograms: readonly (readonly [number, number][])[]): Uint8Array {
  const to = new ByteWriter()
  for (const buckets of histograms) {
    const histogram = new TimeHistogram()
    const counts = new Float64Array(BUCKETS)
    for (const [bucket, count] of buckets) counts[bucket] = count
    histogram.addCounts(counts, 0, BUCKETS)
    histogram.addSum(buckets.length / 8)
    writeHistogram(to, histogram)
  }
  return to.bytes()
}

test('histograms are read back as they were written, narrow and wide, one after the other', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(narrow, wide), { maxLength: 5 }), (histograms) => {
      const from = new ByteReader(written(histograms))
      for (const buckets of histograms) {
        const histogram = new TimeHistogram()
        addHistogram(from, histogram)
        const expected = [...new Map(buckets)].sort(([a], [b]) => a - b)
        expect(bucketsOf(histogram)).toEqual(expected)
        expect(histogram.total).toBe(expected.reduce((sum, [, count]) => sum + count, 0))
        expect(histogram.sumMs).toBe(buckets.length / 8)
      }
      expect(() => from.byte()).toThrow('The bytes end too early')
    }),
  )
})

test('one that fills its room leaves nothing of it to the next', () => {
  const full = Array.from({ length: BUCKETS }, (_, bucket): [number, number] => [bucket, 1])
  const from = new ByteReader(
    written([
      full,
      [
        [0, 1],
        [2, 1],
      ],
    ]),
  )
  addHistogram(from, new TimeHistogram())
  const histogram = new TimeHistogram()
  addHistogram(from, histogram)
  expect(bucketsOf(histogram)).toEqual([
    [0, 1],
    [2, 1],
  ])
})

test('bytes that are none of it are refused, however they are cut or changed', () => {
  fc.assert(
    fc.property(fc.oneof(narrow, wide), fc.nat(), fc.nat(255), (buckets, at, value) => {
      const bytes = written([buckets])
      const read = (data: Uint8Array) => addHistogram(new ByteReader(data), new TimeHistogram())
      if (bytes.length > 0) expect(() => read(bytes.subarray(0, at % bytes.length))).toThrow(RangeError)
      bytes[at % bytes.length] = value
      try {
        read(bytes)
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
      }
    }),
  )
})
