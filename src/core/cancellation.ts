/** A function, or an object that handles events. */
type AbortListener = (() => void) | { handleEvent(event: Event): void }

/** What a caller needs to bring to be able to cancel: an `AbortSignal` is one. */
export interface CancelSignal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: AbortListener): void
  removeEventListener(type: 'abort', listener: AbortListener): void
}

/**
 * An `AbortController` that costs next to nothing until somebody wants a true `AbortSignal` of it: making and listening
 * to one takes longer than a whole call.
 */
export class Cancellation implements CancelSignal {
  aborted = false
  reason: unknown = undefined
  /** Made when there is more than one at a time. */
  #listeners: Set<AbortListener> | undefined = undefined
  #first: AbortListener | undefined = undefined
  #controller: AbortController | undefined = undefined

  /** A true signal, made when it is first asked for. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.aborted) this.#controller.abort(this.reason)
    }
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.#controller?.abort(reason)
    const first = this.#first
    const others = this.#listeners
    this.#first = undefined
    if (first !== undefined) tell(first)
    if (others === undefined) return
    for (const listener of others) tell(listener)
    others.clear()
  }

  addEventListener(_type: 'abort', listener: AbortListener): void {
    if (this.#first === undefined || this.#first === listener) {
      this.#first = listener
      return
    }
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
  }

  removeEventListener(_type: 'abort', listener: AbortListener): void {
    if (this.#first === listener) this.#first = undefined
    else this.#listeners?.delete(listener)
  }
}

const ABORT = new Event('abort')

function tell(listener: AbortListener): void {
  if (typeof listener === 'function') listener()
  else listener.handleEvent(ABORT)
}
