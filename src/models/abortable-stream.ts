import type { CancelSignal } from '../core/cancellation.ts'

const DONE = Promise.resolve({ done: true, value: undefined } as const)
const ignore = (): void => {}

/** Reads a stream until it ends or the signal aborts, even if the source ignores signals. */
export class AbortableStream<T> implements AsyncIterableIterator<T, void, undefined> {
  readonly #signal: CancelSignal
  readonly #source: AsyncIterator<T>
  readonly #abort = (): void => this.#fail(this.#signal.reason)
  readonly #onFailure = (reason: unknown): void => this.#fail(reason)
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
      if (this.#signal.aborted) this.#abort()
      else this.#source.next().then(resolve, this.#onFailure)
    })
  }

  return(): Promise<IteratorResult<T, void>> {
    this.#signal.removeEventListener('abort', this.#abort)
    leave(this.#source)
    return DONE
  }

  /** Fails the pending read. */
  #fail(reason: unknown): void {
    if (this.#reject === undefined) return
    this.return()
    this.#reject(reason)
  }
}

/** Ends a source without waiting for it: one that hangs would block its reader. */
export function leave(source: AsyncIterator<unknown> | undefined): void {
  try {
    source?.return?.().catch(ignore)
  } catch {
    // The source is left anyway.
  }
}
