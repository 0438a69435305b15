import { rates } from '../tool-use/tool-use-record.ts'
import type { Cell, Outcome } from './validation-report.ts'

type Place = Pick<Cell, 'suite' | 'model' | 'tool'>
type Counted = { -readonly [Key in Outcome]: number }

/** The fields of the matrix while they are counted, in the order in which they came up. */
export class CellCounts {
  readonly #counts = new Map<string, { readonly place: Place; readonly counted: Counted }>()

  add(place: Place, outcome: Outcome): void {
    const key = JSON.stringify([place.suite, place.model, place.tool])
    let found = this.#counts.get(key)
    if (found === undefined) {
      found = { place, counted: { passed: 0, failed: 0, not_answered: 0, not_run: 0 } }
      this.#counts.set(key, found)
    }
    found.counted[outcome]++
  }

  cells(): Cell[] {
    return [...this.#counts.values()].map(({ place, counted }) => {
      const judged = counted.passed + counted.failed
      const known = judged === 0 ? { rate: null, lower_bound: null } : rates(counted.passed, judged)
      return { ...place, ...counted, ...known }
    })
  }
}
