import type { BoundTool } from './bound-tool.ts'
import { type Call, cancelled, type Ending } from './call.ts'
import type { CancelSignal } from './cancellation.ts'
import type { Clock } from './clock.ts'
import { copyPlain } from './copy-plain.ts'
import { DeadlineWheel } from './deadline-wheel.ts'
import { asToolError } from './failure.ts'
import { Flight, FlightContext } from './flight.ts'
import type { IsolatedHandler } from './handler.ts'
import type { Isolate, IsolatedTask } from './isolate.ts'
import { type Log, writeLog } from './log.ts'
import { Once } from './once.ts'
import { pause } from './pause.ts'
import type { Params } from './tool.ts'
import { ToolExecutionError } from './tool-execution-error.ts'
import type { ToolExecutorOptions } from './tool-executor-options.ts'

/** What the runner needs of the executor's options. */
type RunnerParts = Pick<ToolExecutorOptions, 'isolate' | 'once' | 'random'>

/** Runs handlers under a deadline: owns cancellation, isolation, joining and retries, so that no kind has to. */
export class Runner {
  readonly #clock: Clock
  readonly #log: Log
  readonly #isolate: Isolate | undefined
  readonly #random: () => number
  readonly #wheel: DeadlineWheel
  readonly #once: Once

  constructor(clock: Clock, log: Log, { isolate, once, random = Math.random }: RunnerParts) {
    this.#clock = clock
    this.#log = log
    this.#isolate = isolate
    this.#random = random
    this.#wheel = new DeadlineWheel(clock)
    this.#once = new Once(clock, log, once)
  }

  /** Ends the call with what the tool gives, by the deadline, whatever the handler does. */
  run<End>(call: Call, tool: BoundTool, params: Params, ending: Ending<End>): Promise<End> {
    if (call.context.signal && isAborted(call.context.signal)) throw cancelled()
    const joined = call.key === undefined ? undefined : tool.joinable(call.key)
    if (joined?.work !== undefined) return call.waitFor(call.board(joined), joined.work, this.#wheel, ending)

    tool.checkConcurrency()
    const flight = call.board(new Flight(tool, params, call.tenant, call.flags, this.#log))
    flight.traceparent = call.span?.traceparent ?? passedOn(call.context.traceparent)
    flight.begin()
    const value = this.#start(call, tool, flight)
    const work = promised(value)
    if (work === undefined) {
      flight.end()
      return Promise.resolve(ending.succeed(call, value))
    }
    if (tool.effect === 'read') {
      flight.work = work
      tool.flights.add(flight)
    }
    return call.waitFor(flight, work, this.#wheel, ending)
  }

  /** Runs a check in a process of its own, under the deadline of the call that it is made for. */
  async runCheck(call: Call, tool: BoundTool, check: IsolatedHandler, params: Params): Promise<unknown> {
    const flight = call.board(new Flight(tool, params, call.tenant, call.flags, this.#log))
    const checked = await call.waitFor(flight, this.#send(call, flight, check, params), this.#wheel, CHECKED)
    call.flight = undefined
    if ('thrown' in checked) throw checked.thrown
    return checked.value
  }

  #start(call: Call, tool: BoundTool, flight: Flight): unknown {
    try {
      if (call.context.idempotencyKey === undefined) return this.#work(call, tool, flight)
      return this.#once.run(call, tool, flight.params, flight.signal, () => this.#work(call, tool, flight))
    } catch (thrown) {
      flight.end()
      throw thrown
    }
  }

  #work(call: Call, tool: BoundTool, flight: Flight): unknown {
    const { retry } = tool.limits
    if (retry === undefined || retry.maxAttempts <= 1) return this.#attempt(call, tool, flight)
    return this.#attempts(call, tool, flight, retry.maxAttempts, retry.backoffMs)
  }

  #attempt(call: Call, tool: BoundTool, flight: Flight): unknown {
    call.attempts++
    const handler = tool.handler()
    const params = call.snapshot?.flat ? { ...flight.params } : copyPlain(flight.params)
    if (typeof handler === 'function') return handler(params, new FlightContext(flight))
    return this.#send(call, flight, handler, params)
  }

  /**
   * Repeats what may be repeated, as long as the pause before it still fits into the deadline. Pauses double, are never
   * shorter than the service asked for, and are spread so that callers who failed together do not come back together.
   */
  async #attempts(call: Call, tool: BoundTool, flight: Flight, most: number, backoffMs: number): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(call, tool, flight)
      } catch (thrown) {
        const error = asToolError(thrown, call.tool)
        const backoff = backoffMs * 2 ** (attempt - 1) * (0.75 + this.#random() / 2)
        const pauseMs = Math.max(backoff, error.repeat?.afterMs ?? 0)
        const late = this.#clock.now() + pauseMs >= call.deadline
        if (!mayRepeat(error, tool) || attempt >= most || late || flight.calledOff) throw error
        const fields = { tool: call.tool, attempt, pause_ms: Math.round(pauseMs) }
        writeLog(this.#log, 'debug', fields, 'Service unavailable: trying again')
        await pause(pauseMs, this.#clock, flight.signal)
      }
    }
  }

  #send(call: Call, flight: Flight, handler: IsolatedHandler, params: unknown): Promise<unknown> {
    if (this.#isolate === undefined) {
      throw new ToolExecutionError('EXECUTION_ERROR', `Tool '${call.tool}' needs a process pool, and there is none`)
    }
    const task: IsolatedTask = {
      tool: call.tool,
      module: handler.module,
      export: handler.export,
      params,
      tenant: call.tenant,
      flags: call.flags,
      report: (progress) => flight.report(progress),
      log: this.#log,
      started: false,
    }
    flight.task = task
    return this.#isolate.run(task, flight.signal)
  }
}

/** What failed for lack of a service may be repeated; a write only where whoever sent it knows that nothing left. */
function mayRepeat({ code, repeat }: ToolExecutionError, { effect }: BoundTool): boolean {
  if (effect === 'write') return repeat?.neverLeft === true
  return repeat !== undefined || code === 'SERVICE_UNAVAILABLE'
}

const CHECKED: Ending<{ readonly value: unknown } | { readonly thrown: unknown }> = {
  succeed: (_, value) => ({ value }),
  fail: (_, thrown) => ({ thrown }),
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** Where nobody here traces, those behind us still can. What a caller sends is passed on only in the form it must have. */
const passedOn = (traceparent: string | undefined): string | undefined =>
  traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined

function isAborted(signal: CancelSignal): boolean {
  if (typeof signal.addEventListener === 'function' && typeof signal.removeEventListener === 'function') {
    return signal.aborted
  }
  throw new ToolExecutionError('EXECUTION_ERROR', 'The signal in the context of a call must be an AbortSignal')
}

/** What there is to wait for; nothing where a handler has given its result at once. */
function promised(value: unknown): Promise<unknown> | undefined {
  try {
    if (value instanceof Promise) return value
    return isThenable(value) ? Promise.resolve(value) : undefined
  } catch {
    // Whoever reads the result finds out what is wrong with it.
    return undefined
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
