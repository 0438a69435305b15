import type { CancelSignal } from '../../../core/cancellation.ts'

/** One request that several wait for. Who gives up takes nothing from the others; when the last has, it is called off. */
export class SharedRequest<Answer> {
  readonly answer: Promise<Answer>
  readonly #controller = new AbortController()
  #waiting = 0

  constructor(ask: (signal: AbortSignal) => Promise<Answer>) {
    this.answer = ask(this.#controller.signal)
  }

  /** Whether nobody waits any more, so that nobody should join. */
  get isCalledOff(): boolean {
    return this.#controller.signal.aborted
  }

  /** Waits for the answer; rejects with the signal's reason as soon as it aborts. */
  wait(signal: CancelSignal | undefined): Promise<Answer> {
    this.#waiting++
    if (signal === undefined) return this.answer
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        reject(signal.reason)
        if (--this.#waiting === 0) this.#controller.abort(signal.reason)
      }
      signal.addEventListener('abort', leave)
      const stay = (): void => signal.removeEventListener('abort', leave)
      this.answer.finally(stay).then(resolve, reject)
    })
  }
}
