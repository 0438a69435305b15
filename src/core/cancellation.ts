import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from './clock.ts'

type AbortListener = (() => void) | { handleEvent(event: Event): void }

/** The part of an `AbortSignal` that cancelling a call needs. */
export interface CancelSignal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: AbortListener): void
  removeEventListener(type: 'abort', listener: AbortListener): void
}

/** A cheap `AbortController`: creating and listening to a real one takes longer than a whole call. */
export class Cancellation implements CancelSignal {
  aborted = false
  reason: unknown = undefined
  /** Most have one listener at a time, which needs no set. */
  #listener: AbortListener | undefined = undefined
  #others: Set<AbortListener> | undefined = undefined
  #controller: AbortController | undefined = undefined
  /** Runs work in the async context of the code that listens: a timer of all calls aborts them. */
  #within: (<Value>(work: () => Value) => Value) | undefined = undefined

  /** A real signal, created on first use. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      this.#within = AsyncLocalStorage.snapshot()
      if (this.aborted) this.#controller.abort(this.reason)
    }
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.#within?.(() => this.#controller?.abort(reason))
    const [first, others] = [this.#listener, this.#others]
    this.#listener = undefined
    this.#others = undefined
    if (first !== undefined) notify(first)
    for (const listener of others ?? []) notify(listener)
  }

  addEventListener(_type: 'abort', listener: AbortListener): void {
    if (this.#listener === listener) return
    if (this.#listener === undefined && this.#others === undefined) this.#listener = listener
    else {
      this.#others ??= new Set()
      this.#others.add(listener)
    }
  }

  removeEventListener(_type: 'abort', listener: AbortListener): void {
    if (this.#listener === listener) this.#listener = undefined
    this.#others?.delete(listener)
  }
}

const ABORT = new Event('abort')

function notify(listener: AbortListener): void {
  if (typeof listener === 'function') listener()
  else listener.handleEvent(ABORT)
}

/** Resolves after `ms`. Rejects with the signal's reason if it aborts first. */
export function pause(ms: number, clock: Clock, signal?: CancelSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      cancel()
      reject(signal?.reason)
    }
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    })
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort)
  })
}
