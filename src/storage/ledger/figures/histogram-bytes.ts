import { BUCKETS, type TimeHistogram } from '../../../core/time-histogram.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'

/**
 * The sum, how many buckets hold something, the first of them, and the counts from there on. Empty ones are a 0 and how
 * many of them there are: most histograms are narrow and dense, and reading a week of them has to be fast.
 */
export function writeHistogram(to: ByteWriter, histogram: TimeHistogram): void {
  let [buckets, next] = [0, BUCKETS]
  histogram.forEachBucket((bucket) => {
    next = Math.min(next, bucket)
    buckets++
  })
  to.number(histogram.sumMs)
  to.whole(buckets)
  to.whole(next)
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
  const buckets = from.whole()
  const first = from.whole()
  histogram.addCounts(counts, first, from.counts(buckets, counts, first))
}
