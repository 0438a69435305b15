import type { BoundTool } from './bound-tool.ts'
import type { CallContext } from './call-context.ts'
import type { CancelSignal } from './cancellation.ts'
import { DeadlineEntry, type DeadlineWheel } from './deadline-wheel.ts'
import type { Flight } from './flight.ts'
import type { IsolatedTask } from './isolate.ts'
import { NO_FLAGS } from './permit.ts'
import type { CallRecord } from './recorder.ts'
import type { ParamsSnapshot } from './snapshot.ts'
import type { Params } from './tool.ts'
import type { ToolErrorCode } from './tool-error-code.ts'
import { ToolExecutionError } from './tool-execution-error.ts'
import type { Span, Tracer } from './tracer.ts'

/** The tenant of callers that name none. */
export const LOCAL_TENANT = 'local'

const SHORTEST_MS = 1_000
const LONGEST_MS = 60_000

/**
 * One call on its way: who asked for what, how far it has come, and how long it may still take. When it is over, it
 * is its own record.
 */
export class Call extends DeadlineEntry implements CallRecord {
  readonly tool: string
  readonly context: CallContext
  readonly tenant: string
  readonly startedMs: number
  executionTimeMs = 0
  code: ToolErrorCode | undefined = undefined
  outcomeUnknown = false
  attempts = 0
  timeoutMs = 0
  /** Set where calls are traced. */
  span: Span | undefined = undefined
  /** Set when the tool is found. */
  bound: BoundTool | undefined = undefined
  /** Set when the parameters have been read. */
  snapshot: ParamsSnapshot | undefined = undefined
  /** What identical calls are known by, where that matters. */
  key: string | undefined = undefined
  /** Set when the tool has begun to run. */
  flight: Flight | undefined = undefined
  #wheel: DeadlineWheel | undefined = undefined
  #ending: Ending<unknown> | undefined = undefined
  #resolve: ((end: unknown) => void) | undefined = undefined

  constructor(tool: string, context: CallContext, startedMs: number) {
    super()
    this.tool = tool
    this.context = context
    this.tenant = context.tenant ?? LOCAL_TENANT
    this.startedMs = startedMs
  }

  get params(): Params | undefined {
    return this.snapshot?.params
  }

  get nodes(): number {
    return this.snapshot === undefined ? 0 : this.snapshot.nodes
  }

  get flags(): Readonly<Record<string, boolean>> {
    return this.context.flags ?? NO_FLAGS
  }

  get caller(): string | undefined {
    return this.context.caller
  }

  get source(): CallContext['source'] {
    return this.context.source
  }

  get runId(): string | undefined {
    return this.context.runId
  }

  get model(): string | undefined {
    return this.context.model
  }

  get schemaHash(): string | undefined {
    return this.bound?.hash
  }

  get deadline(): number {
    return this.startedMs + this.timeoutMs
  }

  /** Begins its part of the trace. A tracer that fails fails no call. */
  beginSpan(tracer: Tracer): void {
    try {
      this.span = tracer.start('execute_tool', this.tool, this.context.traceparent)
    } catch {
      // The call is not traced.
    }
  }

  /** Tells the trace how the call ended, and what went in and came out where that is asked for. */
  endSpan(errorType: ToolErrorCode | undefined, result: unknown): void {
    const { tool, tenant, runId, model, params, span } = this
    try {
      span?.end({
        tool,
        tenant,
        ...(span.contents && { params, result }),
        ...(runId !== undefined && { runId }),
        ...(model !== undefined && { model }),
        ...(errorType !== undefined && { errorType }),
      })
    } catch {
      // What is not told is not missed by the caller.
    }
  }

  /** Becomes one of those who wait for a flight, and hear of its progress. */
  board(flight: Flight): Flight {
    this.flight = flight
    flight.join(this.context.report)
    return flight
  }

  /** Ends with the flight's work, or at the deadline, or when the caller's signal aborts: whichever comes first. */
  waitFor<End>(flight: Flight, work: Promise<unknown>, wheel: DeadlineWheel, ending: Ending<End>): Promise<End> {
    this.#wheel = wheel
    this.#ending = ending
    return new Promise<End>((resolve) => {
      this.#resolve = resolve as (end: unknown) => void
      wheel.add(this, this.deadline)
      if (this.context.signal) this.#listen(this.context.signal)
      const failed = (error: unknown): void => {
        flight.end()
        if (this.#leave()) resolve(ending.fail(this, error))
      }
      try {
        work.then((value) => {
          flight.end()
          if (this.#leave()) resolve(ending.succeed(this, value))
        }, failed)
      } catch (thrown) {
        // A promise with a `then` of its own.
        failed(thrown)
      }
    })
  }

  override expire(): void {
    this.#giveUp(timedOut(this.timeoutMs, this.flight?.task))
  }

  /** The caller's signal aborted. */
  handleEvent(): void {
    this.#giveUp(cancelled())
  }

  #listen(signal: CancelSignal): void {
    try {
      signal.addEventListener('abort', this)
      if (signal.aborted) this.handleEvent()
    } catch {
      // Not a signal after all: the deadline holds without it.
    }
  }

  #unlisten(signal: CancelSignal): void {
    try {
      signal.removeEventListener('abort', this)
    } catch {
      // As above.
    }
  }

  #giveUp(reason: ToolExecutionError): void {
    const { flight } = this
    const resolve = this.#resolve
    if (!this.#leave()) return
    resolve?.(this.#ending?.fail(this, reason))
    flight?.leave(reason, this.context.report)
  }

  /** True for the first who comes: to all others the wait is over. */
  #leave(): boolean {
    if (this.#resolve === undefined) return false
    this.#resolve = undefined
    this.#wheel?.remove(this)
    if (this.context.signal) this.#unlisten(this.context.signal)
    return true
  }
}

/** What becomes of a call in the end. Neither may throw. */
export interface Ending<End> {
  succeed(call: Call, value: unknown): End
  fail(call: Call, thrown: unknown): End
}

/** The deadline that a caller asked for, brought into the range that calls may ask for; `usual` where it is no number. */
export function clampTimeout(ms: number, usual: number): number {
  if (typeof ms !== 'number' || Number.isNaN(ms)) return usual
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, ms))
}

/** The sentence says which deadline applied, and where the time went if nothing ever ran. */
export function timedOut(timeoutMs: number, task?: IsolatedTask): ToolExecutionError {
  const waiting = task !== undefined && !task.started ? ' while waiting for a free worker' : ''
  return new ToolExecutionError('TIMEOUT', `Tool execution timed out after ${timeoutMs}ms${waiting}`)
}

export const cancelled = (): ToolExecutionError =>
  new ToolExecutionError('CANCELLED', 'Tool execution was cancelled by the caller')
