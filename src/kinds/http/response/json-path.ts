import { JSONPathEnvironment, JSONPathError } from 'json-p3'
import { PathBudget } from './path-budget.ts'
import type { Walk } from './path-filter.ts'
import { pathWalk } from './path-walk.ts'

/** Less than a quarter of a second over the worst that 5 MB can hold. */
const MOST_STEPS = 1_500_000

const environment = new JSONPathEnvironment()

/** A JSONPath of RFC 9535, read once. */
export class JsonPath {
  /** Whether it can only ever lead to one value. */
  readonly singular: boolean
  readonly #walk: Walk
  readonly #budget = new PathBudget(MOST_STEPS)

  /** Throws a sentence about a path that cannot be used. */
  constructor(path: string) {
    try {
      const query = environment.compile(path)
      this.singular = query.singularQuery()
      this.#walk = pathWalk(query, this.#budget)
    } catch (error) {
      const what = error instanceof JSONPathError ? error.message : `${(error as Error).message} cannot be used`
      throw new Error(`${JSON.stringify(path)} is not a JSONPath that can be followed: ${what}`)
    }
  }

  /**
   * The value where the path can lead to one only, else the list of all; null where it leads nowhere. Throws
   * `PathTooMuch` where there is too much to look at.
   */
  find(value: unknown): unknown {
    const found: unknown[] = []
    this.#budget.begin()
    this.#walk(value, value, (one) => found.push(one))
    if (found.length === 0) return null
    return this.singular ? found[0] : found
  }
}
