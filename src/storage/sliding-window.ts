/** Passed times are cut off when there are this many of them. */
const CUT_AT = 1_024

/** The times of the calls of the last so many milliseconds. */
export class SlidingWindow {
  readonly #perMs: number
  #times: number[] = []
  #first = 0

  constructor(perMs: number) {
    this.#perMs = perMs
  }

  /** How many calls are not past yet. */
  count(now: number): number {
    const times = this.#times
    while (this.#first < times.length && (times[this.#first] as number) + this.#perMs <= now) this.#first++
    if (this.#first === times.length || this.#first >= CUT_AT) {
      this.#times = times.slice(this.#first)
      this.#first = 0
    }
    return this.#times.length - this.#first
  }

  add(now: number): void {
    this.#times.push(now)
  }

  /** When one of those is past, by its place from the oldest on; undefined where there are fewer. */
  pastAt(place: number): number | undefined {
    const time = this.#times[this.#first + place]
    return time === undefined ? undefined : time + this.#perMs
  }
}
