import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import { pause } from '../core/pause.ts'
import type { ModelEvent } from './model.ts'
import { ModelError } from './model-error.ts'

export const MODEL_ATTEMPTS = 4
export const MODEL_BACKOFF_MS = 500
const LONGEST_BACKOFF_MS = 30_000

export interface RetryOptions {
  readonly clock: Clock
  readonly log: Log
  /** What all attempts and the waiting in between may take together. */
  readonly budgetMs: number
  readonly signal: AbortSignal
  /** Between 0 and 1; so that many callers do not come back at the same moment. */
  readonly random?: () => number
}

/**
 * Asks again, with growing pauses, where that may help: a busy or failing provider, a lost connection. Never once
 * something has arrived: the caller has seen it already.
 */
export async function* retrying(
  attempt: () => AsyncIterable<ModelEvent>,
  { clock, log, budgetMs, signal, random = Math.random }: RetryOptions,
): AsyncGenerator<ModelEvent, void, undefined> {
  const endMs = clock.now() + budgetMs
  for (let made = 1; ; made++) {
    let begun = false
    try {
      for await (const event of attempt()) {
        begun = true
        yield event
      }
      return
    } catch (error) {
      if (begun || signal.aborted || made >= MODEL_ATTEMPTS || !(error instanceof ModelError) || !error.retryable)
        throw error
      const waitMs = error.retryAfterMs ?? backoff(made, random())
      if (clock.now() + waitMs >= endMs) throw error
      log.warn(
        { attempt: made, wait_ms: Math.round(waitMs), status: error.status, reason: error.message },
        'Model asked again',
      )
      await pause(waitMs, clock, signal)
    }
  }
}

/** Doubles each time; between half of it and the whole. */
function backoff(made: number, random: number): number {
  return Math.min(LONGEST_BACKOFF_MS, MODEL_BACKOFF_MS * 2 ** (made - 1)) * (0.5 + random / 2)
}
