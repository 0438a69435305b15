/** Each doubling is cut into this many buckets, so a percentile is at most 1/32 too high. */
const PER_DOUBLING = 32
const BUCKETS = 27 * PER_DOUBLING

/**
 * Times in buckets that grow with them, from 1 µs to beyond a minute. An increment in an array: a recording through
 * the histogram of Node costs more than the rest of a call's bookkeeping, and this one can be added to another.
 */
export class TimeHistogram {
  readonly #counts = new Uint32Array(BUCKETS)
  #total = 0
  #sumMs = 0

  get total(): number {
    return this.#total
  }

  get averageMs(): number {
    return this.#total === 0 ? 0 : this.#sumMs / this.#total
  }

  record(ms: number): void {
    this.#total++
    this.#sumMs += ms
    const bucket = bucketOf(Math.min(ms * 1_000, 0x7fffffff) | 0)
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1
  }

  add(other: TimeHistogram): void {
    this.#total += other.#total
    this.#sumMs += other.#sumMs
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      this.#counts[bucket] = (this.#counts[bucket] as number) + (other.#counts[bucket] as number)
    }
  }

  /** The time that `share` (0 to 1) of all recorded times do not exceed. */
  percentileMs(share: number): number {
    let left = Math.ceil(this.#total * share)
    if (left === 0) return 0
    let bucket = -1
    while (left > 0 && bucket < BUCKETS - 1) left -= this.#counts[++bucket] as number
    return upperEdge(bucket) / 1_000
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
