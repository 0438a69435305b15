import type { ParameterSet } from '../../core/storage/ledger.ts'
import { decodeFigures, encodeFigures, type Figures } from './figures.ts'

/** How many hashes are counted at a time, and how many of them are stored. */
const FOLLOWED = 50
const KEPT = 20

interface Count {
  calls: number
  /** The count of the hash that it replaced. */
  inherited: number
}

/**
 * The most common parameter sets of a tool, in bounded memory: a new hash replaces the rarest one and inherits its
 * count (the "space-saving" algorithm), so that a common hash is never missed. Reported counts exclude inherited ones.
 */
export class ParameterSets implements Figures {
  readonly #counts = new Map<string, Count>()
  /** The hashes with the fewest calls at the last search. */
  readonly #rarest: string[] = []
  #least = 0

  record(hash: string): void {
    const count = this.#counts.get(hash)
    if (count !== undefined) count.calls++
    else if (this.#counts.size < FOLLOWED) this.#counts.set(hash, { calls: 1, inherited: 0 })
    else this.#replaceRarest(hash)
  }

  encode(): Uint8Array {
    return encodeFigures(this.top())
  }

  merge(data: Uint8Array): void {
    for (const { params_hash, calls } of decodeFigures<readonly ParameterSet[]>(data)) {
      const count = this.#counts.get(params_hash)
      if (count === undefined) this.#counts.set(params_hash, { calls, inherited: 0 })
      else count.calls += calls
    }
  }

  /** The most common first. */
  top(most = KEPT): readonly ParameterSet[] {
    return Array.from(this.#counts, ([params_hash, { calls, inherited }]) => ({
      params_hash,
      calls: calls - inherited,
    }))
      .sort((a, b) => b.calls - a.calls || (a.params_hash < b.params_hash ? -1 : 1))
      .slice(0, most)
  }

  #replaceRarest(hash: string): void {
    let name = this.#rarest.pop()
    // A hash that was counted since the search is not the rarest any more.
    while (name !== undefined && this.#counts.get(name)?.calls !== this.#least) name = this.#rarest.pop()
    if (name === undefined) {
      this.#findRarest()
      name = this.#rarest.pop() as string
    }
    this.#counts.delete(name)
    this.#counts.set(hash, { calls: this.#least + 1, inherited: this.#least })
  }

  #findRarest(): void {
    this.#least = Number.POSITIVE_INFINITY
    for (const { calls } of this.#counts.values()) this.#least = Math.min(this.#least, calls)
    for (const [name, { calls }] of this.#counts) if (calls === this.#least) this.#rarest.push(name)
  }
}
