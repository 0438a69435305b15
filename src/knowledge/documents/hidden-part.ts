import { BLOCKS, CONTAINERS, ENDED_BY } from './html-tags.ts'

/** Follows an element that is left out to its end, however carelessly its tags are written. */
export class HiddenPart {
  readonly #name: string
  /** Elements of its own name, and containers, that are open inside. */
  #inner = 0

  constructor(name: string) {
    this.#name = name
  }

  /** A tag opens: whether the hidden part has ended before it. */
  endsBefore(tag: string): boolean {
    const enders = ENDED_BY[this.#name]
    if (this.#inner === 0 && enders !== undefined) {
      if (enders.has(tag) || (enders.has('*') && (BLOCKS.has(tag) || CONTAINERS.has(tag)))) return true
    }
    if (this.#counts(tag)) this.#inner++
    return false
  }

  /** A tag closes: whether that ends the hidden part, as its own end, as the end of what it stands in, or not. */
  endsWith(tag: string): 'itself' | 'around' | 'no' {
    if (tag === this.#name && this.#inner === 0) return 'itself'
    if (!this.#counts(tag)) return 'no'
    if (this.#inner === 0) return 'around'
    this.#inner--
    return 'no'
  }

  #counts(tag: string): boolean {
    return CONTAINERS.has(tag) || (tag === this.#name && ENDED_BY[tag] === undefined)
  }
}
