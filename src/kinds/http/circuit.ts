import {
  type CircuitBreakerPolicy,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
  CircuitState as State,
} from 'cockatiel'
import { type Clock, systemClock } from '../../core/clock.ts'
import { type Log, silentLog, writeLog } from '../../core/log.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { CircuitState } from '../../core/tool-health.ts'

const FAILURES = 5
const OPEN_MS = 30_000
/** Assumed duration of a trial call, for callers that arrive meanwhile. */
const TRIAL_MS = 1_000

/** When a circuit opens, and for how long. */
export interface CircuitOptions {
  readonly tool: string
  /** Consecutive failures that open the circuit; 5 by default. */
  readonly failures?: number | undefined
  /** How long the circuit stays open; 30 s by default. */
  readonly openMs?: number | undefined
  readonly clock?: Clock
  readonly log?: Log
}

/**
 * Stops calling a service that failed several times in a row, and then lets one call at a time test it. The states are
 * cockatiel's. Time comes from our monotonic clock, since a changed wall clock must not keep a circuit open. Successful
 * calls bypass cockatiel while the circuit is closed.
 */
export class Circuit {
  readonly #tool: string
  readonly #openMs: number
  readonly #clock: Clock
  readonly #log: Log
  readonly #breaker: ConsecutiveBreaker
  readonly #policy: CircuitBreakerPolicy
  #retryAt = 0
  #since = 0

  constructor(options: CircuitOptions) {
    this.#tool = options.tool
    this.#openMs = options.openMs ?? OPEN_MS
    this.#clock = options.clock ?? systemClock
    this.#log = options.log ?? silentLog
    this.#breaker = new ConsecutiveBreaker(options.failures ?? FAILURES)
    this.#policy = circuitBreaker(
      handleWhen((error) => isFailure(error) || (this.#policy.state === State.HalfOpen && !isAnswer(error))),
      // The pause is checked before the policy is asked.
      { breaker: this.#breaker, halfOpenAfter: Number.NEGATIVE_INFINITY },
    )
    this.#policy.onBreak((reason) => this.#opened('error' in reason && isFailure(reason.error)))
    this.#policy.onReset(() => this.#closed())
    this.#policy.onHalfOpen(() => {
      this.#since = this.#clock.wall()
    })
  }

  /** Runs the attempt, or fails at once while the circuit is open. */
  run<Value>(attempt: () => Promise<Value>): Promise<Value> {
    if (this.#policy.state === State.Closed) return attempt().then(this.#succeeded<Value>, this.#failed)
    const waitMs = this.#waitMs()
    if (waitMs > 0) return Promise.reject(this.#refusal(waitMs))
    return this.#policy.execute(attempt)
  }

  /** The current state. An open circuit with `retry_in_ms: 0` allows the next call. */
  state(): CircuitState {
    const { state: failures } = this.#breaker
    if (this.#policy.state === State.Closed) return { state: 'closed', failures }
    const since = this.#since
    if (this.#policy.state === State.HalfOpen) return { state: 'half_open', failures, since }
    return { state: 'open', failures, retry_in_ms: this.#waitMs(), since }
  }

  readonly #succeeded = <Value>(value: Value): Value => {
    // A call that started before the circuit opened says nothing about the current state.
    if (this.#breaker.state > 0 && this.#policy.state === State.Closed) this.#breaker.success()
    return value
  }

  readonly #failed = (thrown: unknown): Promise<never> => {
    if (!isFailure(thrown) || this.#policy.state !== State.Closed) return Promise.reject(thrown)
    return this.#policy.execute(() => Promise.reject(thrown))
  }

  #waitMs(): number {
    if (this.#policy.state === State.HalfOpen) return TRIAL_MS
    return Math.max(0, this.#retryAt - this.#clock.now())
  }

  #refusal(afterMs: number): ToolExecutionError {
    const { state: failures } = this.#breaker
    const times = failures === 1 ? 'once' : `${failures} times in a row`
    const message = `The service behind tool '${this.#tool}' is unavailable: it failed ${times}. Try again in ${Math.ceil(afterMs / 1000)} s.`
    return new ToolExecutionError('SERVICE_UNAVAILABLE', message, {}, { repeat: { neverLeft: true, afterMs } })
  }

  #opened(failed: boolean): void {
    this.#since = this.#clock.wall()
    if (!failed) {
      // A cancelled trial has no result: the next caller may try at once.
      this.#breaker.state--
      return
    }
    this.#retryAt = this.#clock.now() + this.#openMs
    const fields = { tool: this.#tool, failures: this.#breaker.state, open_ms: this.#openMs }
    writeLog(this.#log, 'warn', fields, 'Circuit open: the service is not called for a while')
  }

  #closed(): void {
    writeLog(this.#log, 'info', { tool: this.#tool }, 'Circuit closed: the service responds again')
  }
}

/** Whether the service failed. A refusal isn't a failure. */
const isFailure = (thrown: unknown): boolean =>
  thrown instanceof ToolExecutionError && (thrown.code === 'SERVICE_UNAVAILABLE' || thrown.code === 'TIMEOUT')

/** Whether the service responded, even with an error. */
const isAnswer = (thrown: unknown): boolean =>
  thrown instanceof ToolExecutionError && (thrown.code === 'EXECUTION_ERROR' || thrown.code === 'RESULT_TOO_LARGE')
