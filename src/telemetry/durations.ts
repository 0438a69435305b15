import type { Labels, Sample } from './figure-text.ts'

/** Times in the buckets that a histogram of Prometheus has. An increment in an array: this is done for every call. */
export class Durations {
  readonly #bounds: readonly number[]
  /** The last is for what is above all bounds. */
  readonly #counts: Float64Array
  #sum = 0

  /** `bounds` in seconds, the smallest first. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  record(ms: number): void {
    const seconds = ms / 1_000
    let bucket = 0
    while (bucket < this.#bounds.length && seconds > (this.#bounds[bucket] as number)) bucket++
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1
    this.#sum += seconds
  }

  samples(labels: Labels): Sample[] {
    const samples: Sample[] = []
    let total = 0
    for (const [bucket, count] of this.#counts.entries()) {
      total += count
      const le = bucket < this.#bounds.length ? String(this.#bounds[bucket]) : '+Inf'
      samples.push({ suffix: '_bucket', labels: { ...labels, le }, value: total })
    }
    samples.push({ suffix: '_sum', labels, value: this.#sum }, { suffix: '_count', labels, value: total })
    return samples
  }
}
