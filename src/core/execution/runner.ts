import { hash, randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { CallContext } from '../call-context.ts'
import { type CancelSignal, pause } from '../cancellation.ts'
import type { Clock } from '../clock.ts'
import { DeadlineWheel } from '../deadline-wheel.ts'
import { asToolError } from '../failure.ts'
import type { CallTool, ChildCallOptions, Isolate, IsolatedHandler, IsolatedTask, Kind } from '../handler.ts'
import { type Log, writeLog } from '../log.ts'
import type { Rates } from '../rates.ts'
import type { RecordSink } from '../recorder.ts'
import { snapshotResult } from '../snapshot.ts'
import type { OnceClaim, OnceState, OnceStore } from '../storage/once-store.ts'
import type { Params } from '../tool.ts'
import { ToolExecutionError, type ToolResult } from '../tool-result.ts'
import { isTraceparent, type Tracer } from '../tracer.ts'
import type { ApprovalParts } from './approvals.ts'
import type { BoundTool } from './bound-tool.ts'
import { type Call, cancelled } from './call.ts'
import { CodeContext, Execution, KindContext } from './execution.ts'
import { callKey, type ResultCache } from './result-cache.ts'

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
  /** Answers a call only when its record is written or reported as lost. */
  readonly durable?: boolean
  /** Shared rate limits. Default: those of this executor. */
  readonly rates?: Rates
  /** Stores results of writes with an idempotency key. Default: in memory. */
  readonly once?: OnceStore
  /** Stores approvals. Without it, tools that need approval can't be called. Needs `once`. */
  readonly approvals?: ApprovalParts
  /** Shared result cache. Default: one of this executor. */
  readonly cache?: ResultCache
  readonly tracer?: Tracer
  /** Random jitter for retries, from 0 to 1. */
  readonly random?: () => number
}

interface RunnerParts extends Pick<ToolExecutorOptions, 'isolate' | 'once' | 'random'> {
  /** Makes the calls of tools that call others. */
  readonly execute: (name: string, params: unknown, context: CallContext) => Promise<ToolResult>
}

/** Runs handlers under a deadline. Owns cancellation, isolation, joining and retries, so that no kind has to. */
export class Runner {
  readonly #clock: Clock
  readonly #log: Log
  readonly #isolate: Isolate | undefined
  readonly #random: () => number
  readonly #wheel: DeadlineWheel
  readonly #once: Once
  readonly #execute: RunnerParts['execute']
  #closed = false

  constructor(clock: Clock, log: Log, { isolate, once, random = Math.random, execute }: RunnerParts) {
    this.#execute = execute
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

  /** Starts the tool or joins an identical call. A returned promise always settles by the deadline. */
  run(call: Call, tool: BoundTool, params: Params): unknown {
    if (this.#closed || (call.context.signal && isAborted(call.context.signal))) throw cancelled()
    // A call that joined one above it would wait for itself.
    const isNested = call.context.parent?.path.includes(tool.name) === true
    const joined = call.key === undefined || isNested ? undefined : tool.joinable(call.key)
    if (joined?.work !== undefined) return call.waitFor(call.join(joined), joined.work, this.#wheel)

    tool.checkConcurrency()
    const execution = call.join(new Execution(tool, params, call, this.#log))
    execution.traceparent = call.span?.traceparent ?? passedOn(call.context.traceparent)
    execution.timeoutMs = call.timeoutMs
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

  /** Runs a check under the deadline of its call: a promise, or a handler for a child process. */
  async runCheck(
    call: Call,
    tool: BoundTool,
    check: IsolatedHandler | Promise<unknown>,
    params: Params,
  ): Promise<unknown> {
    const { execution: before } = call
    const execution = call.join(new Execution(tool, params, call, this.#log))
    const work = check instanceof Promise ? check : this.#send(call, execution, check, params)
    try {
      return await call.waitFor(execution, work, this.#wheel)
    } finally {
      call.execution = before
    }
  }

  /** The stored answer of the call's idempotency key. Throws it if the answer is a failure. */
  async stored(call: Call, tool: BoundTool, params: Params): Promise<{ readonly result: unknown } | undefined> {
    if (call.context.idempotencyKey === undefined) return undefined
    const execution = call.join(new Execution(tool, params, call, this.#log))
    const known = await call.waitFor(execution, this.#once.look(call, tool, params, execution.signal), this.#wheel)
    call.execution = undefined
    return known as { readonly result: unknown } | undefined
  }

  #start(call: Call, tool: BoundTool, execution: Execution): unknown {
    try {
      if (call.context.idempotencyKey === undefined && call.approval === undefined)
        return this.#work(call, tool, execution)
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
    const params = call.refined === undefined ? call.copyParams() : (call.refined.value as Params)
    if (typeof handler !== 'function') return this.#send(call, execution, handler, params)
    const child = (options?: ChildCallOptions): CallContext => childContext(call, execution, options)
    const make: CallTool = (name, input, options) => this.#execute(name, input, child(options))
    return handler(params, tool.isCode ? new CodeContext(execution, make) : new KindContext(execution, make, child))
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
        await pause(pauseMs, this.#clock, execution.signal)
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

/** A write is retried only if nothing was sent. */
function mayRepeat({ code, repeat }: ToolExecutionError, { effect }: BoundTool): boolean {
  if (effect === 'write') return repeat?.neverLeft === true
  return repeat !== undefined || code === 'SERVICE_UNAVAILABLE'
}

/** Passed on even if this process doesn't trace. */
const passedOn = (traceparent: string | undefined): string | undefined =>
  isTraceparent(traceparent) ? traceparent : undefined

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
function childContext(call: Call, execution: Execution, { step, signal }: ChildCallOptions = {}): CallContext {
  const {
    idempotencyKey: key,
    callId,
    report: _report,
    onRate: _rate,
    timeoutMs: _ms,
    once: _once,
    visible: _offer,
    ...caller
  } = call.context
  call.id ??= randomUUID()
  const path = [...(caller.parent?.path ?? []), call.tool]
  const { traceparent } = execution
  return {
    ...caller,
    repeats: true,
    traceparent,
    signal: signal === undefined ? execution.signal : AbortSignal.any([execution.signal, signal]),
    parent: { id: call.id, deadline: call.deadline, path, agents: caller.parent?.agents },
    ...(key !== undefined && step !== undefined && { idempotencyKey: hash('sha256', `${key}\n${step}`) }),
    // Without a step, two calls of one parent would share an approval.
    ...(callId !== undefined && step !== undefined && { callId: `${callId} ${hash('sha256', step)}` }),
  }
}

/** No caller can send such a key: it isn't printable ASCII. */
const APPROVAL = 'approval\n'
const approvalKey = (id: string): string => `${APPROVAL}${id}`
const isOfApproval = ({ key }: OnceClaim): boolean => key.startsWith(APPROVAL)

const RETENTION_MS = 24 * 60 * 60_000
/** A run may continue long after its server has died. */
const RUN_RETENTION_MS = 30 * RETENTION_MS
const MAX_KEY_LENGTH = 255
const FIRST_POLL_MS = 5
const MAX_POLL_MS = 200

/** Runs calls with an idempotency key once, and returns the stored result to repeated calls. */
class Once {
  readonly #clock: Clock
  readonly #log: Log
  /** For writes: shared and persistent. */
  readonly #store: OnceStore
  /** For everything else: a repeated read is harmless. */
  readonly #memory: OnceStore

  constructor(clock: Clock, log: Log, store: OnceStore | undefined) {
    this.#clock = clock
    this.#log = log
    this.#memory = new MemoryOnce(clock)
    this.#store = store ?? new MemoryOnce(clock, 'refuse')
  }

  /** Runs the call once for its idempotency key, and once for its approval. */
  run(call: Call, tool: BoundTool, params: Params, signal: AbortSignal, work: () => unknown): unknown {
    const { approval, context } = call
    // An approval may have changed the parameters, but the caller repeats those that it asked for.
    const asked = approval?.params ?? params
    const key = approval && approvalKey(approval.id)
    const approved =
      key === undefined ? work : () => this.#run(call, tool, this.#claimOf(call, tool, asked, key), signal, work)
    if (context.idempotencyKey === undefined) return approved()
    return this.#run(call, tool, this.#keyClaim(call, tool, asked), signal, approved)
  }

  /** The stored answer of the idempotency key, without claiming the key. */
  async look(call: Call, tool: BoundTool, params: Params, signal: AbortSignal): Promise<unknown> {
    const claim = this.#keyClaim(call, tool, params)
    const store = this.#storeFor(call, tool)
    const known = await this.#claim(store, claim, signal)
    if (known !== undefined) return { result: replay(known) }
    await store.release(claim)
    return undefined
  }

  #storeFor({ context: { once } }: Call, { effect, approval }: BoundTool): OnceStore {
    return effect === 'write' || approval !== undefined ? (once ?? this.#store) : this.#memory
  }

  async #run(
    call: Call,
    tool: BoundTool,
    claim: OnceClaim,
    signal: AbortSignal,
    work: () => unknown,
  ): Promise<unknown> {
    const store = this.#storeFor(call, tool)
    const known = await this.#claim(store, claim, signal)
    if (known !== undefined) return replay(known)
    try {
      const value = snapshotResult(await work(), tool.limits.maxResultBytes)
      await this.#settle(store, claim, { ...this.#times(call), success: true, result: value })
      return value
    } catch (thrown) {
      const { code, message, extras } = asToolError(thrown, call.tool)
      const unknown = tool.effect === 'write' && (extras.outcome !== undefined || ENDED_EARLY.has(code))
      // The call did not happen: the key may be used again.
      if (!unknown && NOTHING_HAPPENED.has(code))
        await store.release(claim).catch((err) => this.#failed(err, call.tool))
      else {
        const outcome = unknown ? ({ outcome: 'unknown' } as const) : {}
        const failure = { success: false, error: message, error_code: code, ...extras, ...outcome } as const
        await this.#settle(store, claim, { ...this.#times(call), ...failure })
      }
      throw thrown
    }
  }

  #keyClaim(call: Call, tool: BoundTool, params: Params): OnceClaim {
    const key = call.context.idempotencyKey as string
    if (typeof key !== 'string' || key === '' || key.length > MAX_KEY_LENGTH || /[^\x20-\x7e]/.test(key)) {
      throw new ToolExecutionError(
        'INVALID_PARAMETERS',
        `The idempotency key must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters`,
      )
    }
    return this.#claimOf(call, tool, params, key)
  }

  #claimOf(call: Call, tool: BoundTool, params: Params, key: string): OnceClaim {
    const retentionMs = call.context.callId === undefined ? RETENTION_MS : RUN_RETENTION_MS
    const expiresAt = this.#clock.wall() + retentionMs
    const fingerprint = hash('sha256', callKey(tool.name, call.tenant, params))
    return { tenant: call.tenant, caller: call.caller ?? '', key, fingerprint, expiresAt }
  }

  /** The stored result, or undefined if this call must run. */
  async #claim(store: OnceStore, claim: OnceClaim, signal: AbortSignal): Promise<ToolResult | undefined> {
    for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
      const known = await store.claim(claim).catch((cause) => {
        const message = 'The store for idempotency keys is unavailable. The call did not run: try again later'
        throw new ToolExecutionError('SERVICE_UNAVAILABLE', message, {}, { cause })
      })
      if (known.state === 'done') return known.result
      if (known.state === 'fresh') {
        if (!signal.aborted) return undefined
        await store.release(claim)
        throw signal.reason
      }
      if (known.state === 'other') {
        const message = `The idempotency key '${claim.key}' was used for another call: use a new key`
        throw new ToolExecutionError('INVALID_PARAMETERS', message)
      }
      if (known.state === 'lost') {
        const what = isOfApproval(claim) ? 'the approved call' : `the call with the idempotency key '${claim.key}'`
        const message = `The server that ran ${what} has died: check whether the call happened`
        throw new ToolExecutionError('EXECUTION_ERROR', message, { outcome: 'unknown' })
      }
      await pause(pauseMs, this.#clock, signal)
    }
  }

  async #settle(store: OnceStore, claim: OnceClaim, result: ToolResult): Promise<void> {
    await store.settle(claim, result).catch((err) => this.#failed(err, result.tool_name))
  }

  #failed(err: unknown, tool: string): void {
    writeLog(this.#log, 'error', { err, tool }, 'Could not store the result of a call with an idempotency key')
  }

  #times({ tool, startedMs }: Call): { tool_name: string; execution_time_ms: number } {
    return { tool_name: tool, execution_time_ms: Math.round(this.#clock.now() - startedMs) }
  }
}

const ENDED_EARLY: ReadonlySet<string> = new Set(['TIMEOUT', 'CANCELLED'])
/** Or the call continues with the same key: a tool that calls others waits for the approval of one of its calls. */
const NOTHING_HAPPENED: ReadonlySet<string> = new Set([
  ...['SERVICE_UNAVAILABLE', 'RATE_LIMITED', 'TIMEOUT', 'CANCELLED', 'APPROVAL_REQUIRED'],
])

function replay(known: ToolResult): unknown {
  if (known.success) return known.result
  const { error, error_code, details, suggestions, outcome } = known
  throw new ToolExecutionError(error_code, error, {
    ...(details && { details }),
    ...(suggestions && { suggestions }),
    ...(outcome && { outcome }),
  })
}

const MAX_ENTRIES = 10_000
const MAX_CHARACTERS = 64 * 1024 * 1024

interface Entry {
  readonly fingerprint: string
  /** The envelope as JSON; empty while the call is running. */
  readonly text: string
}

/** Stores results in memory. If it is full, it forgets the oldest, or refuses more keys of the same tenant. */
export class MemoryOnce implements OnceStore {
  readonly #clock: Clock
  readonly #whenFull: 'forget' | 'refuse'
  /** By tenant, if it refuses. */
  readonly #entries = new Map<string, LRUCache<string, Entry>>()

  constructor(clock: Clock, whenFull: 'forget' | 'refuse' = 'forget') {
    this.#clock = clock
    this.#whenFull = whenFull
  }

  async claim(claim: OnceClaim): Promise<OnceState> {
    const entries = this.#of(claim)
    const entry = entries.get(nameOf(claim))
    if (entry === undefined) {
      const isFull = () => entries.size >= MAX_ENTRIES || entries.calculatedSize >= MAX_CHARACTERS
      // A write must not run twice because its key was forgotten.
      if (this.#whenFull === 'refuse' && isFull() && (!entries.purgeStale() || isFull())) {
        throw new Error(`Tenant '${claim.tenant}' has too many idempotency keys in memory: use a store`)
      }
      this.#store(claim, '')
      return { state: 'fresh' }
    }
    if (entry.fingerprint !== claim.fingerprint) return { state: 'other' }
    return entry.text === '' ? { state: 'running' } : { state: 'done', result: JSON.parse(entry.text) }
  }

  async settle(claim: OnceClaim, result: ToolResult): Promise<void> {
    this.#store(claim, JSON.stringify(result))
  }

  async release(claim: OnceClaim): Promise<void> {
    this.#of(claim).delete(nameOf(claim))
  }

  #of({ tenant }: OnceClaim): LRUCache<string, Entry> {
    const name = this.#whenFull === 'refuse' ? tenant : ''
    let entries = this.#entries.get(name)
    if (entries === undefined) {
      entries = new LRUCache({
        // A maximum would reserve memory for each tenant.
        ...(this.#whenFull === 'forget' && { max: MAX_ENTRIES }),
        // Room for the results of calls that run when it becomes full.
        maxSize: this.#whenFull === 'refuse' ? 4 * MAX_CHARACTERS : MAX_CHARACTERS,
        sizeCalculation: ({ text }, key) => text.length + key.length,
        ttlResolution: 0,
        perf: { now: () => this.#clock.wall() },
      })
      this.#entries.set(name, entries)
    }
    return entries
  }

  #store(claim: OnceClaim, text: string): void {
    const ttl = Math.max(1, claim.expiresAt - this.#clock.wall())
    this.#of(claim).set(nameOf(claim), { fingerprint: claim.fingerprint, text }, { ttl })
  }
}

const nameOf = ({ tenant, caller, key }: OnceClaim): string => JSON.stringify([tenant, caller, key])
