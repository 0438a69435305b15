import type { BoundTool } from './bound-tool.ts'
import { type Call, cancelled } from './call.ts'
import type { CancelSignal } from './cancellation.ts'
import type { Clock } from './clock.ts'
import { DeadlineWheel } from './deadline-wheel.ts'
import { Execution, ExecutionContext } from './execution.ts'
import { asToolError } from './failure.ts'
import type { IsolatedHandler } from './handler.ts'
import type { Isolate, IsolatedTask } from './isolate.ts'
import { type Log, writeLog } from './log.ts'
import { Once } from './once.ts'
import { pause } from './pause.ts'
import type { Params } from './tool.ts'
import { ToolExecutionError } from './tool-execution-error.ts'
import type { ToolExecutorOptions } from './tool-executor-options.ts'
import { isTraceparent } from './traceparent.ts'

type RunnerParts = Pick<ToolExecutorOptions, 'isolate' | 'once' | 'random'>

/** Runs handlers under a deadline. Owns cancellation, isolation, joining and retries, so that no kind has to. */
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

  /**
   * Starts the tool, or joins an identical call. Gives the result or a promise of it that rejects at the deadline,
   * whatever the handler does.
   */
  run(call: Call, tool: BoundTool, params: Params): unknown {
    if (call.context.signal && isAborted(call.context.signal)) throw cancelled()
    const joined = call.key === undefined ? undefined : tool.joinable(call.key)
    if (joined?.work !== undefined) return call.waitFor(call.join(joined), joined.work, this.#wheel)

    tool.checkConcurrency()
    const execution = call.join(new Execution(tool, params, call.tenant, call.flags, this.#log))
    execution.traceparent = call.span?.traceparent ?? passedOn(call.context.traceparent)
    execution.begin()
    const value = this.#start(call, tool, execution)
    const work = promiseOf(value)
    if (work === undefined) {
      execution.end()
      return value
    }
    if (tool.effect === 'read') {
      execution.work = work
      tool.executions.add(execution)
    }
    return call.waitFor(execution, work, this.#wheel)
  }

  /** Runs a check in a process of the pool, under the deadline of its call. */
  async runCheck(call: Call, tool: BoundTool, check: IsolatedHandler, params: Params): Promise<unknown> {
    const execution = call.join(new Execution(tool, params, call.tenant, call.flags, this.#log))
    try {
      return await call.waitFor(execution, this.#send(call, execution, check, params), this.#wheel)
    } finally {
      call.execution = undefined
    }
  }

  #start(call: Call, tool: BoundTool, execution: Execution): unknown {
    try {
      if (call.context.idempotencyKey === undefined) return this.#work(call, tool, execution)
      return this.#once.run(call, tool, execution.params, execution.signal, () => this.#work(call, tool, execution))
    } catch (thrown) {
      execution.end()
      throw thrown
    }
  }

  #work(call: Call, tool: BoundTool, execution: Execution): unknown {
    const { retry } = tool.limits
    if (retry === undefined || retry.maxAttempts <= 1) return this.#attempt(call, tool, execution)
    return this.#attempts(call, tool, execution, retry.maxAttempts, retry.backoffMs)
  }

  #attempt(call: Call, tool: BoundTool, execution: Execution): unknown {
    call.attempts++
    const handler = tool.handler()
    const params = call.snapshot?.flat ? { ...execution.params } : copyPlain(execution.params)
    if (typeof handler === 'function') return handler(params, new ExecutionContext(execution))
    return this.#send(call, execution, handler, params)
  }

  /** Retries inside the deadline with jittered exponential backoff, honouring the service's Retry-After. */
  async #attempts(
    call: Call,
    tool: BoundTool,
    execution: Execution,
    most: number,
    backoffMs: number,
  ): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(call, tool, execution)
      } catch (thrown) {
        const error = asToolError(thrown, call.tool)
        const backoff = backoffMs * 2 ** (attempt - 1) * (0.75 + this.#random() / 2)
        const pauseMs = Math.max(backoff, error.repeat?.afterMs ?? 0)
        const late = this.#clock.now() + pauseMs >= call.deadline
        if (!mayRepeat(error, tool) || attempt >= most || late || execution.cancelled) throw error
        const fields = { tool: call.tool, attempt, pause_ms: Math.round(pauseMs) }
        writeLog(this.#log, 'debug', fields, 'Service unavailable, retrying')
        await pause(pauseMs, this.#clock, execution.signal)
      }
    }
  }

  #send(call: Call, execution: Execution, handler: IsolatedHandler, params: unknown): Promise<unknown> {
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
      report: (progress) => execution.report(progress),
      log: this.#log,
      started: false,
    }
    execution.task = task
    return this.#isolate.run(task, execution.signal)
  }
}

/** A write is retried only if its sender knows that nothing was sent. */
function mayRepeat({ code, repeat }: ToolExecutionError, { effect }: BoundTool): boolean {
  if (effect === 'write') return repeat?.neverLeft === true
  return repeat !== undefined || code === 'SERVICE_UNAVAILABLE'
}

/** Passed on even if this process doesn't trace, but only if it is well-formed. */
const passedOn = (traceparent: string | undefined): string | undefined =>
  isTraceparent(traceparent) ? traceparent : undefined

function isAborted(signal: CancelSignal): boolean {
  if (typeof signal.addEventListener === 'function' && typeof signal.removeEventListener === 'function') {
    return signal.aborted
  }
  throw new ToolExecutionError('EXECUTION_ERROR', 'The signal in the context of a call must be an AbortSignal')
}

/** The promise to wait for; undefined if the handler returned a plain value. */
function promiseOf(value: unknown): Promise<unknown> | undefined {
  try {
    if (value instanceof Promise) return value
    return isThenable(value) ? Promise.resolve(value) : undefined
  } catch {
    // A hostile `then` getter: reading the result reports it.
    return undefined
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'

/** A copy of plain JSON that is already known to be harmless: no checks, no bounds. */
function copyPlain<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyPlain) as Value
  const copy = { ...value }
  for (const key in copy) {
    const one = copy[key]
    if (typeof one === 'object' && one !== null) copy[key] = copyPlain(one)
  }
  return copy
}
