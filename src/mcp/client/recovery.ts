import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { pause } from '../../core/pause.ts'
import type { ConnectionRecord } from './connection-record.ts'
import { MCP_BACKGROUND_DELAY, MCP_BACKGROUND_MOST, MCP_RETRY_ATTEMPTS, retryDelay } from './retry-plan.ts'

export interface RecoveryParts {
  readonly server: string
  readonly log: Log
  readonly clock: Clock
  readonly record: ConnectionRecord
  /** Aborts when there is to be no connection any more. */
  readonly closing: AbortSignal
  readonly isConnected: () => boolean
  /** One attempt. */
  readonly connect: () => Promise<unknown>
  /** Called when the first attempts have all failed. */
  readonly onGivenUp: () => void
}

/** Tries to make a connection, as often as the plan says, and then in the background, until it is there. */
export class Recovery {
  readonly #parts: RecoveryParts
  #running: Promise<void> | undefined
  /** Ends the pauses of the one that runs. */
  #round: AbortController | undefined

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  /** Ends when the plan has been gone through; one that runs already is joined. Never rejects. */
  start(): Promise<void> {
    this.#running ??= this.#recover()
    return this.#running
  }

  /** Calls off the one that runs: the next start begins at the first attempt. */
  callOff(): void {
    this.#round?.abort(new Error('It begins anew'))
    this.#running = undefined
  }

  async #recover(): Promise<void> {
    const round = new AbortController()
    this.#round = round
    const signal = AbortSignal.any([this.#parts.closing, round.signal])
    const over = (): void => {
      if (this.#round === round) this.#running = undefined
    }
    try {
      if (await this.#tryPlan(signal)) return over()
    } catch {
      // Only closing, or beginning anew, ends the pauses.
      return over()
    }
    this.#parts.onGivenUp()
    this.#tryInBackground(signal)
      .catch(() => {})
      .finally(over)
  }

  async #tryPlan(signal: AbortSignal): Promise<boolean> {
    const { server, log, isConnected, connect } = this.#parts
    for (let attempt = 1; attempt <= MCP_RETRY_ATTEMPTS; attempt++) {
      const delay_ms = retryDelay(attempt)
      if (delay_ms > 0) await this.#pause(delay_ms, signal)
      if (isConnected()) return true
      log.info({ server, attempt, delay_ms }, `MCP connection attempt ${attempt} of ${MCP_RETRY_ATTEMPTS}`)
      try {
        await connect()
        log.info({ server, attempt }, `MCP connection succeeded on attempt ${attempt}`)
        return true
      } catch (error) {
        if (signal.aborted) throw error
        log.warn({ server, attempt, reason: String(error) }, `MCP connection attempt ${attempt} failed`)
      }
    }
    return false
  }

  async #tryInBackground(signal: AbortSignal): Promise<void> {
    const { server, log, isConnected, connect } = this.#parts
    for (let delay = MCP_BACKGROUND_DELAY; ; delay = Math.min(delay * 2, MCP_BACKGROUND_MOST)) {
      await this.#pause(delay, signal)
      if (isConnected()) return
      try {
        await connect()
        log.info({ server }, 'MCP connection succeeded in the background')
        return
      } catch (error) {
        if (signal.aborted) throw error
      }
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { record, clock } = this.#parts
    record.waits(ms)
    try {
      await pause(ms, clock, signal)
    } finally {
      record.waits()
    }
  }
}
