/** The place of one value in a `Linked`. */
interface Link<T> {
  readonly value: T
  previous: Link<T> | undefined
  next: Link<T> | undefined
}

/**
 * What comes and goes with each call, in order. Not a `Set` or a `Map`: V8 gives those a new table every few changes, and
 * an old table keeps what all later ones held until the next major collection.
 */
export class Linked<T> implements Iterable<T> {
  #first: Link<T> | undefined = undefined
  #last: Link<T> | undefined = undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Returns what removes the value again. */
  add(value: T): () => void {
    const link: Link<T> = { value, previous: this.#last, next: undefined }
    if (this.#last === undefined) this.#first = link
    else this.#last.next = link
    this.#last = link
    this.#size++
    let isThere = true
    return () => {
      if (isThere) this.#remove(link)
      isThere = false
    }
  }

  #remove(link: Link<T>): void {
    const { previous, next } = link
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    // Links that are gone must not lead to later ones.
    link.previous = undefined
    link.next = undefined
    this.#size--
  }

  /** The values as they are now: they may be removed meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    const values: T[] = []
    for (let link = this.#first; link !== undefined; link = link.next) values.push(link.value)
    return values.values()
  }
}
