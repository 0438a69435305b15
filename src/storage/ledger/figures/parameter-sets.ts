import type { ParameterSet } from '../../../core/storage/ledger.ts'
import { ByteReader, ByteWriter, checkVersion } from './figure-bytes.ts'
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
  /** Those with the least calls, when it was last looked. */
  readonly #rarest: string[] = []
  #least = 0

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
    let name = this.#rarest.pop()
    // One that has been counted since is not the rarest any more.
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
