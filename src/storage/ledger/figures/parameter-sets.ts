import type { ParameterSet } from '../../../core/storage/metrics.ts'
import { ByteReader } from './byte-reader.ts'
import { ByteWriter } from './byte-writer.ts'
import { checkVersion } from './check-version.ts'
import type { Figures } from './figures.ts'

const VERSION = 1
/** How many hashes are followed at a time, and how many of them are kept. */
const FOLLOWED = 50
const KEPT = 20

interface Count {
  calls: number
  /** How many of them may have been another's: those that the one whose place it took had. */
  inherited: number
}

/**
 * The most common parameter sets of a tool, in bounded memory: a new hash takes the place of the rarest one and
 * inherits its count (the "space-saving" rule), so that one that is common is never missed. What is told is only what
 * was counted for the hash itself: never too many.
 */
export class ParameterSets implements Figures {
  readonly #counts = new Map<string, Count>()

  record(hash: string): void {
    const count = this.#counts.get(hash)
    if (count !== undefined) count.calls++
    else if (this.#counts.size < FOLLOWED) this.#counts.set(hash, { calls: 1, inherited: 0 })
    else this.#replaceRarest(hash)
  }

  encode(): Uint8Array {
    const to = new ByteWriter()
    const sets = this.top(KEPT)
    to.byte(VERSION)
    to.whole(sets.length)
    for (const { params_hash, calls } of sets) {
      to.hex(params_hash)
      to.whole(calls)
    }
    return to.bytes()
  }

  merge(data: Uint8Array): void {
    const from = new ByteReader(data)
    checkVersion(from.byte(), VERSION)
    for (let left = from.whole(); left > 0; left--) {
      const [hash, calls] = [from.hex(), from.whole()]
      const count = this.#counts.get(hash)
      if (count === undefined) this.#counts.set(hash, { calls, inherited: 0 })
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
    let rarest = ''
    let least = Number.POSITIVE_INFINITY
    for (const [name, { calls }] of this.#counts) {
      if (calls < least) {
        rarest = name
        least = calls
      }
    }
    this.#counts.delete(rarest)
    this.#counts.set(hash, { calls: least + 1, inherited: least })
  }
}
