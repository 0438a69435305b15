import { hash, randomUUID } from 'node:crypto'
import type { AskableClient, CallContext, UserAccounts } from '../call-context.ts'
import { type CancelSignal, pause } from '../cancellation.ts'
import {
  ABOVE_ZERO,
  boolean,
  type Checks,
  callable,
  clock,
  logger,
  methods,
  must,
  number,
  plainObject,
  sinkList,
} from '../check-options.ts'
import type { Clock } from '../clock.ts'
import type { Budgets, CompilePath } from '../costs.ts'
import { DeadlineWheel } from '../deadline-wheel.ts'
import { asToolError } from '../failure.ts'
import type { ChildCallOptions, Isolate, IsolatedHandler, IsolatedTask, Kind } from '../handler.ts'
import { type Log, writeLog } from '../log.ts'
import type { OnceStore } from '../once-store.ts'
import type { Rates } from '../rates.ts'
import type { CallPayload, CallRecord, RecordSink } from '../records/recorder.ts'
import type { Tracer } from '../records/tracer.ts'
import type { Params } from '../tool.ts'
import { ToolExecutionError, type ToolResult } from '../tool-result.ts'
import type { ApprovalParts } from './approvals.ts'
import type { BoundTool } from './bound-tool.ts'
import { type Call, cancelled, timedOut, waitingPlace } from './call.ts'
import { CodeContext, Execution, KindContext } from './execution.ts'
import { Once } from './once.ts'
import { callKey, type ResultCache } from './result-cache.ts'
import { type CallHook, type Failure, firstSaid, type Known, type Stages } from './stages.ts'

export interface ToolExecutorOptions {
  /** The kinds by `implementation.type`, besides `code`. */
  readonly kinds?: Readonly<Record<string, Kind>>
  /** Runs isolated handlers and the exact validator. */
  readonly isolate?: Isolate
  readonly log?: Log
  readonly clock?: Clock
  readonly defaultTimeoutMs?: number
  /** Receive the records of calls, besides the executor's own metrics. */
  readonly sinks?: readonly RecordSink[]
  /** What to store of the parameters and the outcome of a call. Must not throw. */
  readonly payload?: PayloadOf
  /** Whether the log may hold the parameters and the outcome of a call. Default: yes. */
  readonly logged?: (failed: boolean) => boolean
  /** Answers a call only when its record is written or reported as lost. */
  readonly durable?: boolean
  /** Shared rate limits. Default: those of this executor. */
  readonly rates?: Rates
  /** Refuse calls of tools that have a cost. */
  readonly budgets?: Budgets
  /** Finds costs in results. Without it, those costs are unknown. */
  readonly compilePath?: CompilePath
  /** Stores results of writes with an idempotency key. Default: in memory. */
  readonly once?: OnceStore
  /** Stores approvals. Without it, tools that need approval can't be called. Needs `once`. */
  readonly approvals?: ApprovalParts
  /** Resolves when the tools that other servers list are known, or those servers have failed. Default: at once. */
  readonly settled?: () => Promise<void>
  /** The accounts of users. Without it, tools that use them can't be called. */
  readonly accounts?: UserAccounts
  /** Shared result cache. Default: one of this executor. */
  readonly cache?: ResultCache
  readonly tracer?: Tracer
  /** Random jitter for retries, from 0 to 1. */
  readonly random?: () => number
}

export const EXECUTOR_OPTIONS: Checks<ToolExecutorOptions> = {
  ...{ kinds: plainObject, isolate: methods('run', 'close'), log: logger, clock, defaultTimeoutMs: number(ABOVE_ZERO) },
  ...{ sinks: sinkList, payload: callable, logged: callable, durable: boolean, rates: methods('take', 'look') },
  ...{ budgets: methods('take', 'turn'), compilePath: callable, once: methods('claim', 'look', 'settle', 'release') },
  approvals: must('an object with pauses', (value) => typeof Object(value).pauses === 'object'),
  ...{ settled: callable, accounts: methods('problem', 'require', 'token'), cache: methods('get', 'set') },
  ...{ tracer: methods('start'), random: callable },
}

export type PayloadOf = (
  call: CallRecord,
  outcome: { readonly result: unknown } | { readonly error: string },
) => CallPayload | undefined

interface RunnerParts extends Pick<ToolExecutorOptions, 'isolate' | 'once' | 'random'> {
  readonly canAsk: boolean
  /** Makes the calls of tools that call others. */
  readonly execute: (name: string, params: unknown, context: CallContext) => Promise<ToolResult>
}

/** Runs handlers under a deadline. Owns cancellation, isolation, joining and retries, so that no kind has to. */
export class Runner implements CallHook<BoundTool> {
  readonly #clock: Clock
  readonly #log: Log
  readonly #isolate: Isolate | undefined
  readonly #random: () => number
  readonly #wheel: DeadlineWheel
  readonly #once: Once
  readonly #parts: Execution['parts']
  /** Whether any call may name an approval. */
  readonly #canAsk: boolean
  #closed = false

  constructor(clock: Clock, log: Log, { isolate, once, random = Math.random, execute, canAsk }: RunnerParts) {
    this.#canAsk = canAsk
    this.#parts = {
      log,
      callBy: (execution) => (name, params, options) => execute(name, params, childContext(execution, options)),
    }
    this.#clock = clock
    this.#log = log
    this.#isolate = isolate
    this.#random = random
    this.#wheel = new DeadlineWheel(clock)
    this.#once = new Once(clock, log, once)
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Cancels the running calls, and starts no more. */
  close(): void {
    this.#closed = true
    for (const call of this.#wheel.entries()) (call as Call).handleEvent()
  }

  /** Starts the tool or joins an identical call. Returns the call itself if its outcome comes later. */
  run(call: Call, tool: BoundTool, params: Params): unknown {
    if (this.#closed || (call.context.signal && isAborted(call.context.signal))) throw cancelled()
    // A call that joined one above it would wait for itself.
    const isNested = call.context.parent?.path.includes(tool.name) === true
    // Here, in one step with the start: identical calls may have waited together.
    if (tool.executions.size > 0 && !tool.isPrivate(call)) call.key ??= callKey(tool.hash, call.scope, params)
    // The answers of calls with a key or an approval of their own are stored.
    const isAlone = isNested || call.idempotencyKey !== undefined || call.guard !== undefined
    const mayJoin = call.key !== undefined && !isAlone
    const joined = mayJoin ? tool.joinable(call.key as string) : undefined
    if (joined?.work !== undefined) return call.follow(call.join(joined), joined.work)

    tool.checkConcurrency()
    const execution = call.join(new Execution(tool, params, call, this.#parts))
    execution.begin()
    const value = this.#start(call, tool, execution)
    const work = promiseOf(value)
    if (work === undefined) {
      execution.end()
      return value
    }
    if (tool.effect === 'read' && !tool.isPrivate(call)) {
      execution.work = work
      execution.key = call.key
      tool.executions.add(execution)
    }
    return call.follow(execution, work)
  }

  /** The outcome of a call that runs. Settles by the deadline. */
  outcomeOf(call: Call): Promise<unknown> {
    const outcome = call.outcome(this.#wheel)
    // Neither the wheel nor `close` has found the call yet.
    if (this.#closed) call.handleEvent()
    else if (this.#clock.now() >= call.deadline) call.expire()
    return outcome
  }

  /** Runs a check under the deadline of its call: a promise, or a handler for a child process. */
  async runCheck(
    call: Call,
    tool: BoundTool,
    check: IsolatedHandler | Promise<unknown>,
    params: Params,
  ): Promise<unknown> {
    const { execution: before } = call
    const execution = call.join(new Execution(tool, params, call, this.#parts))
    const work = check instanceof Promise ? check : this.#send(call, execution, check, params)
    try {
      return await this.outcomeOf(call.follow(execution, work))
    } finally {
      call.execution = before
    }
  }

  readonly stages = (tool: BoundTool): Stages => ({
    ...(this.#mayBeEarly(tool) && {
      stored: (call: Call) => {
        const isEarly = call.guard !== undefined || tool.cost !== undefined
        const isKnown = call.idempotencyKey !== undefined || call.guard?.hasBegun === true
        return isEarly && isKnown ? this.#stored(call, tool) : undefined
      },
    }),
    late: (call) => {
      call.endedMs = this.#clock.now()
      if (call.endedMs > call.deadline) throw timedOut(call.timeoutMs)
      return undefined
    },
  })

  /** Whether answers are looked for before a call is approved and paid. Others are found where it would run. */
  #mayBeEarly({ cost }: BoundTool): boolean {
    return this.#canAsk || cost !== undefined
  }

  readonly begun = (call: Call, thrown: unknown): Promise<Known | Failure | undefined> | undefined =>
    mayHaveBegun(call, thrown) ? this.#begun(call) : undefined

  async #begun(call: Call): Promise<Known | Failure | undefined> {
    try {
      return await this.#once.begun(call)
    } catch (unknown) {
      // The tool may be gone, but not what its call has done.
      return { thrown: unknown, extras: asToolError(unknown, call.tool).extras }
    }
  }

  /** The stored answer of the call's idempotency key, or of its approval. Throws it if the answer is a failure. */
  async #stored(call: Call, tool: BoundTool): Promise<Known | undefined> {
    const { params = {}, guard } = call
    const execution = call.join(new Execution(tool, params, call, this.#parts))
    const looking = this.#once.look(call, tool, params, guard?.hasBegun === true, execution.cancellation)
    const known = await this.outcomeOf(call.follow(execution, looking))
    call.execution = undefined
    // What was stored is what the handler returned.
    if (known !== undefined) await firstSaid(tool.stages.after, call, (known as Known).result)
    return known as Known | undefined
  }

  #start(call: Call, tool: BoundTool, execution: Execution): unknown {
    try {
      if (call.idempotencyKey === undefined && call.approval === undefined) return this.#work(call, tool, execution)
      return this.#once.run(call, tool, execution.params, execution.cancellation, () =>
        this.#work(call, tool, execution),
      )
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
    if (call.progress !== undefined) call.progress.begun = true
    const handler = tool.handler()
    const params = call.refined === undefined ? call.copyParams() : (call.refined.value as Params)
    if (typeof handler !== 'function') return this.#send(call, execution, handler, params)
    if (tool.isCode) return handler(params, new CodeContext(execution))
    const child = (options?: ChildCallOptions): CallContext => childContext(execution, options)
    const make = this.#parts.callBy(execution)
    const whileAsking = <T>(answer: Promise<T>): Promise<T> => call.whileAsking(answer, this.#clock)
    const asked = { client: clientOf(call, whileAsking), whileAsking }
    return handler(params, new KindContext(execution, call.progress?.once(make) ?? make, child, asked))
  }

  /** Retries within the deadline with jittered exponential backoff. Respects Retry-After. */
  async #attempts(
    call: Call,
    tool: BoundTool,
    execution: Execution,
    maxAttempts: number,
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
        if (!mayRepeat(error, tool) || attempt >= maxAttempts || late || execution.cancelled) throw error
        const fields = { tool: call.tool, attempt, pause_ms: Math.round(pauseMs) }
        writeLog(this.#log, 'debug', fields, 'Service unavailable, retrying')
        await pause(pauseMs, this.#clock, execution.cancellation)
      }
    }
  }

  #send(call: Call, execution: Execution, handler: IsolatedHandler, params: unknown): Promise<unknown> {
    if (this.#isolate === undefined) {
      throw new ToolExecutionError(
        'EXECUTION_ERROR',
        `Tool '${call.tool}' needs a process pool, but the executor has none`,
      )
    }
    const task: IsolatedTask = {
      tool: call.tool,
      module: handler.module,
      export: handler.export,
      ...(handler.network !== undefined && { network: handler.network }),
      params,
      tenant: call.tenant,
      flags: call.flags,
      report: (progress) => execution.report(progress),
      log: this.#log,
      started: false,
    }
    execution.task = task
    return this.#isolate.run(task, execution.cancellation.signal)
  }
}

/**
 * A call of a run that is refused now may have begun before the run continued: its tool was removed, or has other parameters,
 * permissions or limits since. As a mere refusal it would be made again.
 */
function mayHaveBegun({ attempts, context, idempotencyKey, tool }: Call, thrown: unknown): boolean {
  if (context.continued !== true || idempotencyKey === undefined || attempts > 0) return false
  const { code, extras } = asToolError(thrown, tool)
  return code !== 'APPROVAL_REQUIRED' && extras.outcome === undefined
}

function clientOf(
  { context: { client } }: Call,
  whileAsking: <T>(answer: Promise<T>) => Promise<T>,
): AskableClient | undefined {
  return client && { ...client, ask: (request) => whileAsking(client.ask(request)) }
}

/** A write is retried only if nothing was sent. */
function mayRepeat({ code, repeat }: ToolExecutionError, { effect }: BoundTool): boolean {
  if (effect === 'write') return repeat?.neverLeft === true
  return repeat !== undefined || code === 'SERVICE_UNAVAILABLE'
}

function isAborted(signal: CancelSignal): boolean {
  if (typeof signal.addEventListener === 'function' && typeof signal.removeEventListener === 'function') {
    return signal.aborted
  }
  throw new ToolExecutionError('EXECUTION_ERROR', 'The signal in the context of a call must be an AbortSignal')
}

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

/** The same caller with the same rights. The child ends with its parent, and what the model was offered doesn't matter. */
function childContext(execution: Execution, { step, signal }: ChildCallOptions = {}): CallContext {
  const { caller: call } = execution
  const {
    idempotencyKey: _key,
    callId,
    report: _report,
    client: _client,
    onRate: _rate,
    timeoutMs: _ms,
    visible: _offer,
    ...caller
  } = call.context
  call.id ??= randomUUID()
  const path = [...(caller.parent?.path ?? []), call.tool]
  const { idempotencyKey: key, traceparent } = call
  const own = callId === undefined ? undefined : waitingPlace(call.context)
  return {
    ...caller,
    repeats: true,
    traceparent,
    signal: signal === undefined ? execution.cancellation : AbortSignal.any([execution.cancellation.signal, signal]),
    parent: {
      ...{ id: call.id, deadline: call.deadline, path, agents: caller.parent?.agents, step },
      progress: call.progress ?? caller.parent?.progress?.inner(undefined),
      // Without a step, the calls are those of another run.
      waiting: step === undefined ? own : caller.parent?.waiting,
    },
    ...(key !== undefined && step !== undefined && { idempotencyKey: hash('sha256', `${key}\n${step}`) }),
    // Without a step, two calls of one parent would share an approval.
    ...(callId !== undefined && step !== undefined && { callId: `${callId} ${hash('sha256', step)}` }),
  }
}
