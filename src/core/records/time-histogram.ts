/** Buckets per power of two: a percentile is at most 1/32 too high. */
const PER_DOUBLING = 32
const BUCKETS = 27 * PER_DOUBLING

export type StoredTimes = readonly number[]

/**
 * A histogram with exponential buckets from 1 µs to over a minute. Recording is one array increment, much cheaper than
 * Node's histogram, and histograms can be added.
 */
export class TimeHistogram {
  /** Counts from bucket `#first` on. Sparse, because the times of one tool are close together. */
  #counts = new Float64Array(0)
  #first = 0
  #total = 0
  #sumMs = 0

  get total(): number {
    return this.#total
  }

  get averageMs(): number {
    return this.#total === 0 ? 0 : this.#sumMs / this.#total
  }

  record(ms: number): void {
    this.#sumMs += ms
    this.#count(bucketOf(Math.max(0, Math.min(ms * 1_000, 0x7fffffff)) | 0), 1)
  }

  add(other: TimeHistogram): void {
    this.merge(other.toJSON())
  }

  /** The sum, then a bucket and its count for each bucket that is not empty. */
  toJSON(): StoredTimes {
    const stored = [this.#sumMs]
    for (const [index, count] of this.#counts.entries()) if (count > 0) stored.push(this.#first + index, count)
    return stored
  }

  /** Adds what `toJSON` returned. */
  merge(stored: StoredTimes): void {
    this.#sumMs += stored[0] as number
    for (let index = 1; index < stored.length; index += 2) {
      const bucket = stored[index] as number
      if (!(bucket >= 0 && bucket < BUCKETS)) throw new RangeError(`A time histogram has no bucket ${bucket}`)
      this.#count(bucket, stored[index + 1] as number)
    }
  }

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

  /** Extends the counts by whole powers of two to include the bucket. */
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

/** How many times a stored histogram counts, and how many of them are longer than `ms`, up to 1/32 too few. */
export function countTimes(stored: StoredTimes, ms: number): { readonly total: number; readonly longer: number } {
  const limit = bucketOf(Math.max(0, Math.min(ms * 1_000, 0x7fffffff)) | 0)
  let [total, longer] = [0, 0]
  for (let index = 1; index < stored.length; index += 2) {
    const count = stored[index + 1] as number
    total += count
    if ((stored[index] as number) > limit) longer += count
  }
  return { total, longer }
}

/** One bucket per microsecond below 32 µs. Above, the five bits after the highest one select the bucket. */
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
