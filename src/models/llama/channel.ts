/** Hands on what is pushed into it to the one that reads it; a failure overtakes what was not read yet. */
export class Channel<T> {
  #waiting: T[] = []
  #ended = false
  #failure: { readonly reason: unknown } | undefined
  #wake = (): void => {}

  push(value: T): void {
    this.#waiting.push(value)
    this.#wake()
  }

  end(): void {
    this.#ended = true
    this.#wake()
  }

  fail(reason: unknown): void {
    this.#failure ??= { reason }
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.reason
      const next = this.#waiting.shift()
      if (next !== undefined) yield next
      else if (this.#ended) return
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }
}
