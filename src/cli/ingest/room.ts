interface Waiting {
  readonly size: number
  enter(): void
}

/** Lets in as many at a time as there is room for their sizes, in the order in which they come; one always gets in. */
export class Room {
  readonly #size: number
  readonly #waiting: Waiting[] = []
  #taken = 0

  constructor(size: number) {
    this.#size = size
  }

  async within<T>(size: number, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#waiting.push({ size, enter: resolve })
      this.#admit()
    })
    try {
      return await work()
    } finally {
      this.#taken -= size
      this.#admit()
    }
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#taken > 0 && this.#taken + next.size > this.#size) return
      this.#waiting.shift()
      this.#taken += next.size
      next.enter()
    }
  }
}
