import type { CancelSignal } from '../core/cancellation.ts'

const DONE = Promise.resolve({ done: true, value: undefined } as const)
const ignore = (): void => {}

/** Reads a stream until it ends or the signal does, also where what is behind it does not care for signals. */
export class AbortableStream<T> implements AsyncIterableIterator<T, void, undefined> {
  readonly #signal: CancelSignal
  readonly #source: AsyncIterator<T>
  readonly #abort = (): void => this.giveUp(this.#signal.reason)
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
      this.#reject = (reason) => {
        this.return()
        reject(reason)
      }
      if (this.#signal.aborted) this.#reject(this.#signal.reason)
      else this.#source.next().then(resolve, this.#reject)
    })
  }

  /** Gives each item to `take` until it wants no more, and says whether it did; cheaper than a `next` for each. */
  each(take: (item: T) => boolean): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const fail = (reason: unknown): void => {
        this.#reject = undefined
        this.return()
        reject(reason)
      }
      const step = (read: IteratorResult<T>): void => {
        // The reader has been told already that it is over.
        if (this.#reject === undefined) return
        try {
          if (read.done === true) resolve(false)
          else if (take(read.value)) resolve(true)
          else this.#source.next().then(step, fail)
        } catch (thrown) {
          fail(thrown)
        }
      }
      this.#reject = fail
      if (this.#signal.aborted) fail(this.#signal.reason)
      else this.#source.next().then(step, fail)
    })
  }

  /** Makes the read that is under way fail. */
  giveUp(reason: unknown): void {
    this.#reject?.(reason)
  }

  /** Leaves the source, without waiting for it: one that hangs would hold up the reader. */
  return(): Promise<IteratorResult<T, void>> {
    this.#signal.removeEventListener('abort', this.#abort)
    try {
      this.#source.return?.().catch(ignore)
    } catch {
      // It is left either way.
    }
    return DONE
  }
}
