import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'

/** How often each of a few names was counted. */
export class Tally {
  readonly #counts = new Map<string, number>()

  add(name: string, count = 1): void {
    this.#counts.set(name, this.get(name) + count)
  }

  addAll(other: Tally): void {
    for (const [name, count] of other.#counts) this.add(name, count)
  }

  get(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  get total(): number {
    let total = 0
    for (const count of this.#counts.values()) total += count
    return total
  }

  names(): Iterable<string> {
    return this.#counts.keys()
  }

  toRecord(): Record<string, number> {
    return Object.fromEntries(this.#counts)
  }

  write(to: ByteWriter): void {
    to.whole(this.#counts.size)
    for (const [name, count] of this.#counts) {
      to.text(name)
      to.whole(count)
    }
  }

  /** Adds what `write` wrote. */
  read(from: ByteReader): void {
    for (let left = from.whole(); left > 0; left--) this.add(from.text(), from.whole())
  }
}
