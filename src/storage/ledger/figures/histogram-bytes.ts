import { BUCKETS, type TimeHistogram } from '../../../core/time-histogram.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'

/** Where more buckets than this are empty for each that is not, they are left out. */
const MOST_EMPTY = 2

/**
 * The sum; how many buckets hold something; the first of them, and how many there are from it to the last. Then the
 * counts of all of these, which are read fastest, or, where most would be 0, pairs of how far it is from the bucket
 * before and the count.
 */
export function writeHistogram(to: ByteWriter, histogram: TimeHistogram): void {
  const buckets: [bucket: number, count: number][] = []
  histogram.forEachBucket((bucket, count) => buckets.push([bucket, count]))
  to.number(histogram.sumMs)
  to.whole(buckets.length)
  const [first, last] = [buckets[0], buckets.at(-1)]
  if (first === undefined || last === undefined) return
  const span = last[0] - first[0] + 1
  to.whole(first[0])
  to.whole(span)
  const sparse = isSparse(buckets.length, span)
  let next = first[0]
  for (const [bucket, count] of buckets) {
    if (sparse) to.whole(bucket - next)
    else for (; next < bucket; next++) to.whole(0)
    to.whole(count)
    next = bucket + 1
  }
}

const counts = new Float64Array(BUCKETS)

/** Adds what `writeHistogram` wrote. */
export function addHistogram(from: ByteReader, histogram: TimeHistogram): void {
  histogram.addSum(from.number())
  const buckets = from.whole()
  if (buckets === 0) return
  const first = from.whole()
  const span = from.whole()
  if (!isSparse(buckets, span)) {
    from.wholes(counts, first, first + span)
    histogram.addCounts(counts, first, first + span)
    return
  }
  let bucket = first
  for (let left = buckets; left > 0; left--) {
    bucket += from.whole()
    counts[bucket] = from.whole()
    histogram.addCounts(counts, bucket, bucket + 1)
    bucket++
  }
}

const isSparse = (buckets: number, span: number): boolean => span > (1 + MOST_EMPTY) * buckets
