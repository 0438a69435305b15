import { BUCKETS, type TimeHistogram } from '../../../core/time-histogram.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'

/**
 * The sum, how many buckets hold something, and then the count of each from the first bucket on. Empty ones are a 0 and
 * how many of them there are: most histograms are narrow and dense, and reading a week of them has to be fast.
 */
export function writeHistogram(to: ByteWriter, histogram: TimeHistogram): void {
  let buckets = 0
  histogram.forEachBucket(() => buckets++)
  to.number(histogram.sumMs)
  to.whole(buckets)
  let next = 0
  histogram.forEachBucket((bucket, count) => {
    if (bucket > next) {
      to.whole(0)
      to.whole(bucket - next)
    }
    to.whole(count)
    next = bucket + 1
  })
}

const counts = new Float64Array(BUCKETS)

/** Adds what `writeHistogram` wrote. */
export function addHistogram(from: ByteReader, histogram: TimeHistogram): void {
  histogram.addSum(from.number())
  const { first, end } = from.counts(from.whole(), counts)
  histogram.addCounts(first, counts.subarray(first, end))
}
