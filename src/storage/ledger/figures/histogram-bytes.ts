import type { TimeHistogram } from '../../../core/time-histogram.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'

/** The sum, the number of buckets that hold something, and of each how far it is from the one before, and its count. */
export function writeHistogram(to: ByteWriter, histogram: TimeHistogram): void {
  let buckets = 0
  histogram.forEachBucket(() => buckets++)
  to.number(histogram.sumMs)
  to.whole(buckets)
  let last = 0
  histogram.forEachBucket((bucket, count) => {
    to.whole(bucket - last)
    to.whole(count)
    last = bucket
  })
}

/** Adds what `writeHistogram` wrote. */
export function addHistogram(from: ByteReader, histogram: TimeHistogram): void {
  histogram.addSum(from.number())
  let bucket = 0
  for (let left = from.whole(); left > 0; left--) {
    bucket += from.whole()
    histogram.addBucket(bucket, from.whole())
  }
}
