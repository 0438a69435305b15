import { Cancellation, type CancelSignal } from '../core/cancellation.ts'
import type { Clock } from '../core/clock.ts'
import { workingTime } from './run-budget.ts'

/** Why a run has to end before its model is done. */
export type Interruption = 'cancelled' | 'timeout'

/** What ends a run early: its caller, and the time it may take. `work` ends first, so that a last question fits in. */
export class RunSignals {
  /** For the last question. */
  readonly whole = new Cancellation()
  /** For turns with tools, and their calls. */
  readonly work: Cancellation
  readonly #caller: CancelSignal | undefined
  readonly #callOff: (() => void)[] = []
  readonly #cancel = (): void => this.#end(this.#caller?.reason)

  constructor(caller: CancelSignal | undefined, wallTimeMs: number | undefined, clock: Clock) {
    this.#caller = caller
    const workingMs = wallTimeMs && workingTime(wallTimeMs)
    this.work = workingMs === wallTimeMs ? this.whole : new Cancellation()
    if (wallTimeMs !== undefined && workingMs !== undefined) {
      const late = new DOMException('The run took too long', 'TimeoutError')
      this.#callOff.push(clock.after(workingMs, () => this.work.abort(late)))
      this.#callOff.push(clock.after(wallTimeMs, () => this.#end(late)))
    }
    if (caller?.aborted) this.#cancel()
    else caller?.addEventListener('abort', this.#cancel)
  }

  /** Why the work is over, where it is. */
  get interruption(): Interruption | undefined {
    if (this.#caller?.aborted) return 'cancelled'
    return this.work.aborted ? 'timeout' : undefined
  }

  /** Ends what still runs, and lets go of timers and of the caller's signal. */
  close(): void {
    for (const callOff of this.#callOff) callOff()
    this.#caller?.removeEventListener('abort', this.#cancel)
    this.#end(undefined)
  }

  #end(reason: unknown): void {
    this.work.abort(reason)
    this.whole.abort(reason)
  }
}
