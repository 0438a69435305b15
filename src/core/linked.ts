/** The place of one value in a `Linked`. */
interface Link<T> {
  readonly value: T
  previous: Link<T> | undefined
  next: Link<T> | undefined
}

/**
 * A list for what comes and goes with each call, in the order of adding. A `Set` or a `Map` would keep more than it holds: V8
 * gives it a new table every few changes, and a discarded table that is an old object keeps the contents of all later ones
 * until the next major collection.
 */
export class Linked<T> implements Iterable<T> {
  #first: Link<T> | undefined = undefined
  #last: Link<T> | undefined = undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Returns a function that removes the value. */
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
    // A removed link that is an old object must not keep later ones.
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
