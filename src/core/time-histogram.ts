/** Each doubling is cut into this many buckets, so a percentile is at most 1/32 too high. */
const PER_DOUBLING = 32
export const BUCKETS = 27 * PER_DOUBLING

/**
 * Times in buckets that grow with them, from 1 µs to beyond a minute. An increment in an array: a recording through
 * the histogram of Node costs more than the rest of a call's bookkeeping, and this one can be added to another.
 */
export class TimeHistogram {
  /** The counts from bucket `#first` on: times of one tool lie close together, and there are many tools. */
  #counts = new Float64Array(0)
  #first = 0
  #total = 0
  #sumMs = 0

  get total(): number {
    return this.#total
  }

  get sumMs(): number {
    return this.#sumMs
  }

  get averageMs(): number {
    return this.#total === 0 ? 0 : this.#sumMs / this.#total
  }

  record(ms: number): void {
    this.#sumMs += ms
    this.#count(bucketOf(Math.max(0, Math.min(ms * 1_000, 0x7fffffff)) | 0), 1)
  }

  add(other: TimeHistogram): void {
    this.#sumMs += other.#sumMs
    other.forEachBucket((bucket, count) => this.#count(bucket, count))
  }

  /** The buckets that hold something, in order: together with `sumMs` all that has to be kept of a histogram. */
  forEachBucket(visit: (bucket: number, count: number) => void): void {
    const counts = this.#counts
    for (let index = 0; index < counts.length; index++) {
      const count = counts[index] as number
      if (count > 0) visit(this.#first + index, count)
    }
  }

  /** Adds the counts of the buckets from `first` up to `end`, which have their places among `counts`. */
  addCounts(counts: Float64Array, first: number, end: number): void {
    if (!(first >= 0 && end <= BUCKETS)) throw new RangeError(`A time histogram has no buckets ${first} to ${end - 1}`)
    if (first >= end) return
    this.#cover(first)
    this.#cover(end - 1)
    const own = this.#counts
    const offset = this.#first
    let total = 0
    for (let bucket = first; bucket < end; bucket++) {
      const count = counts[bucket] as number
      total += count
      own[bucket - offset] = (own[bucket - offset] as number) + count
    }
    this.#total += total
  }

  /** Adds the sum of times whose counts were added. */
  addSum(ms: number): void {
    this.#sumMs += ms
  }

  /** The time that `share` (0 to 1) of all recorded times do not exceed. */
  percentileMs(share: number): number {
    let left = Math.ceil(this.#total * share)
    if (left === 0) return 0
    const counts = this.#counts
    let index = -1
    while (left > 0 && index < counts.length - 1) left -= counts[++index] as number
    return upperEdge(this.#first + index) / 1_000
  }

  #count(bucket: number, count: number): void {
    this.#total += count
    this.#cover(bucket)
    const index = bucket - this.#first
    this.#counts[index] = (this.#counts[index] as number) + count
  }

  /** Widens the counts by whole doublings until the bucket is among them. */
  #cover(bucket: number): void {
    const counts = this.#counts
    if (bucket >= this.#first && bucket < this.#first + counts.length) return
    const low = bucket - (bucket % PER_DOUBLING)
    const first = counts.length === 0 ? low : Math.min(this.#first, low)
    const end = Math.max(this.#first + counts.length, low + PER_DOUBLING)
    const wider = new Float64Array(end - first)
    if (counts.length > 0) wider.set(counts, this.#first - first)
    this.#counts = wider
    this.#first = first
  }
}

/** Below 32 µs one bucket a microsecond; above, the five bits after the highest one pick the bucket. */
function bucketOf(microseconds: number): number {
  if (microseconds < PER_DOUBLING) return microseconds
  const shift = 26 - Math.clz32(microseconds)
  return shift * PER_DOUBLING + (microseconds >>> shift)
}

function upperEdge(bucket: number): number {
  if (bucket < PER_DOUBLING) return bucket + 1
  const shift = Math.floor(bucket / PER_DOUBLING) - 1
  return (bucket - shift * PER_DOUBLING + 1) * 2 ** shift
}
