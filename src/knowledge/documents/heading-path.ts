const LONGEST = 200

/** The headings that stand over what follows, by their levels. */
export class HeadingPath {
  readonly #levels: number[] = []
  #path: readonly string[] = []

  /** Outermost first; the same array until the next heading. */
  get current(): readonly string[] {
    return this.#path
  }

  /** A heading comes: it stands under those of lower levels only. */
  enter(level: number, heading: string): void {
    let kept = this.#levels.length
    while (kept > 0 && (this.#levels[kept - 1] as number) >= level) kept--
    this.#levels.length = kept
    this.#levels.push(level)
    this.#path = [...this.#path.slice(0, kept), shortened(heading)]
  }
}

/** A heading that is a whole book would stand in each of its pieces. */
export const shortened = (heading: string): string =>
  heading.length <= LONGEST ? heading : `${heading.slice(0, LONGEST - 1).toWellFormed()}…`
