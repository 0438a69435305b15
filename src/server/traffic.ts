import type { ServerResponse } from 'node:http'
import type { Cancellation } from '../core/cancellation.ts'

/** What this server is busy with, so that it can end without cutting anything short. */
export class Traffic {
  /** Calls of tools; they can be called off. */
  readonly calls = new Set<Cancellation>()
  #requests = 0
  #draining = false

  /** True when no more requests are taken. */
  get draining(): boolean {
    return this.#draining
  }

  get busy(): boolean {
    return this.calls.size > 0 || this.#requests > 0
  }

  drain(): void {
    this.#draining = true
  }

  /** Counts a request until its response is closed. */
  count(response: ServerResponse): void {
    this.#requests++
    response.on('close', this.#ended)
  }

  readonly #ended = (): void => {
    this.#requests--
  }

  /** Calls off all calls that still run. */
  cancelCalls(): void {
    for (const call of this.calls) call.abort(undefined)
  }
}
