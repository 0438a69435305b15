/** Work that is done one after the other. */
export class InTurn {
  #last: Promise<unknown> = Promise.resolve()

  /** The work starts when all that was added before has ended, also if that failed. */
  add<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }

  /** Settles when all that was added has ended. */
  async ended(): Promise<void> {
    await this.#last
  }
}
