/** Thrown where a path would look at more than it may. */
export class PathTooMuch extends Error {}

/** How much one look through an answer may still cost. */
export class PathBudget {
  readonly #most: number
  #left = 0

  constructor(most: number) {
    this.#most = most
  }

  begin(): void {
    this.#left = this.#most
  }

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new PathTooMuch()
  }

  /** What a list or an object holds. */
  childrenOf(value: object): readonly unknown[] {
    // Twice as fast as `Object.values` where there are very many, and it can be given up in the middle.
    if (!Array.isArray(value)) return this.keysOf(value).map((key) => (value as Record<string, unknown>)[key])
    this.spend(value.length + 1)
    return value
  }

  keysOf(value: object): readonly string[] {
    const keys = Object.keys(value)
    // Dearer than the items of a list, and much dearer in an object that is as large as a table.
    this.spend(1 + keys.length * (keys.length > 1_000 ? 8 : 2))
    return keys
  }
}
