import type { CallContext } from '../core/call-context.ts'
import { type Log, writeLog } from '../core/log.ts'
import type { RunAnswer, TrackedCall } from './run.ts'
import type { RunObserver } from './run-observer.ts'

/** Told of the calls of a run when it is over. */
export type OnCalls = (calls: readonly TrackedCall[], context: CallContext) => void

/** Hands on all calls of a run at its end. */
export class CallReport implements RunObserver {
  readonly #onCalls: OnCalls
  readonly #context: CallContext
  readonly #log: Log

  constructor(onCalls: OnCalls, context: CallContext, log: Log) {
    this.#onCalls = onCalls
    this.#context = context
    this.#log = log
  }

  asked(): void {}

  heard(): void {}

  called(): void {}

  ended({ tool_calls }: RunAnswer): void {
    if (tool_calls.length === 0) return
    try {
      this.#onCalls(tool_calls, this.#context)
    } catch (err) {
      writeLog(this.#log, 'error', { err, run_id: this.#context.runId }, 'The calls of a run were not counted')
    }
  }
}
