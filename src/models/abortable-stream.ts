import type { CancelSignal } from '../core/cancellation.ts'

const DONE = Promise.resolve({ done: true, value: undefined } as const)
const ignore = (): void => {}

/** Reads a stream until it ends or the signal aborts, even if the source ignores signals. */
export class AbortableStream<T> implements AsyncIterableIterator<T, void, undefined> {
  readonly #signal: CancelSignal
  readonly #source: AsyncIterator<T>
  readonly #abort = (): void => this.giveUp(this.#signal.reason)
  readonly #fail = (reason: unknown): void => this.giveUp(reason)
  #reject: ((reason: unknown) => void) | undefined = undefined

  constructor(source: AsyncIterable<T>, signal: CancelSignal) {
    this.#signal = signal
    this.#source = source[Symbol.asyncIterator]()
    signal.addEventListener('abort', this.#abort)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T, void>> {
    return new Promise((resolve, reject) => {
      this.#reject = reject
      if (this.#signal.aborted) this.giveUp(this.#signal.reason)
      else this.#source.next().then(resolve, this.#fail)
    })
  }

  /** Fails the pending read. */
  giveUp(reason: unknown): void {
    if (this.#reject === undefined) return
    this.return()
    this.#reject(reason)
  }

  /** Doesn't wait for the source: one that hangs would block the reader. */
  return(): Promise<IteratorResult<T, void>> {
    this.#signal.removeEventListener('abort', this.#abort)
    try {
      this.#source.return?.().catch(ignore)
    } catch {
      // The source is left anyway.
    }
    return DONE
  }
}
