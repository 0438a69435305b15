import type { CallContext, ParentCall } from '../call-context.ts'
import type { CancelSignal } from '../cancellation.ts'
import type { Clock } from '../clock.ts'
import { type Hold, inUnits } from '../costs.ts'
import { DeadlineEntry, type DeadlineWheel } from '../deadline-wheel.ts'
import { connectionProblem } from '../failure.ts'
import type { IsolatedTask } from '../handler.ts'
import type { Log } from '../log.ts'
import type { Progress } from '../progress.ts'
import type { CallPayload, CallRecord } from '../records/recorder.ts'
import { boundedJson, knownKey, redactText } from '../records/redact.ts'
import { isTraceparent, type Span, type Tracer } from '../records/tracer.ts'
import type { ParamsSnapshot } from '../snapshot.ts'
import type { Pause } from '../storage/pause-store.ts'
import type { Effect, Params } from '../tool.ts'
import { type ToolErrorCode, ToolExecutionError, type ToolFailure, type ToolResult } from '../tool-result.ts'
import type { Execution } from './execution.ts'
import { NO_FLAGS } from './permit.ts'
import type { ToolCost } from './tool-cost.ts'
import { isText } from './tool-view.ts'

export const LOCAL_TENANT = 'local'

const MIN_TIMEOUT_MS = 1_000
const MAX_TIMEOUT_MS = 60_000

/** What a call needs to know of its tool. */
interface Bound {
  readonly hash: string
  readonly effect: Effect
  readonly version: string | undefined
  readonly dependsOnCaller: boolean
  readonly runsProgram: boolean
  readonly cost: ToolCost | undefined
}

/** The state of one call, from its start to its record. */
export class Call extends DeadlineEntry implements CallRecord {
  /** As it was called, without a version. */
  tool: string
  readonly context: CallContext
  readonly tenant: string
  readonly startedMs: number
  /** Why its context could not be read. */
  unreadable: { readonly reason: unknown } | undefined = undefined
  /** Set when the result is there. */
  endedMs: number | undefined = undefined
  executionTimeMs = 0
  code: ToolErrorCode | undefined = undefined
  outcomeUnknown = false
  attempts = 0
  /** In millionths of the currency; undefined if it is unknown. */
  cost: number | undefined = undefined
  /** What budgets have set aside for the call. */
  hold: Hold | undefined = undefined
  payload: CallPayload | undefined = undefined
  timeoutMs = 0
  span: Span | undefined = undefined
  bound: Bound | undefined = undefined
  warnings: string[] | undefined = undefined
  snapshot: ParamsSnapshot | undefined = undefined
  /** Set if the call runs only with an approval, or names one. */
  guard: { readonly isCounted: boolean; readonly hasBegun: boolean } | undefined = undefined
  /** The approval that the call asked for or uses. */
  approval: Pause | undefined = undefined
  /** The definitions that a person would approve, as text; undefined until they are compared. */
  definitions: string | undefined = undefined
  /** Only of tools that call others. */
  progress: Progress | undefined = undefined
  /** The key of identical calls, for tools that can share results. */
  key: string | undefined = undefined
  execution: Execution | undefined = undefined
  /** The output of the schema's own validation, if the tool has one. */
  refined: { readonly value: unknown } | undefined = undefined
  id: string | undefined = undefined
  #wheel: DeadlineWheel | undefined = undefined
  #state: 'idle' | 'running' | 'returned' | 'failed' = 'idle'
  #outcome: unknown = undefined
  /** Set while `outcome` waits. */
  #settle: ((outcome: unknown) => void) | undefined = undefined
  /** How many questions wait for the client, and since when. */
  #asking: { open: number; sinceMs: number } | undefined = undefined

  constructor(tool: string, context: CallContext, startedMs: number) {
    super()
    this.tool = tool
    this.context = context
    this.tenant = context.tenant ?? LOCAL_TENANT
    this.startedMs = startedMs
  }

  warn(warning: string): void {
    this.warnings = [...(this.warnings ?? []), warning]
  }

  get params(): Params | undefined {
    return this.snapshot?.params
  }

  /** A copy of the validated parameters. */
  copyParams(): Params {
    const { params, flat } = this.snapshot as ParamsSnapshot
    return flat ? { ...params } : copyPlain(params)
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

  get keyId(): string | undefined {
    return this.context.keyId
  }

  get source(): CallContext['source'] {
    return this.context.source
  }

  get runId(): string | undefined {
    return this.context.runId
  }

  get parentId(): string | undefined {
    return this.context.parent?.id || undefined
  }

  /** Whether the tool can't know more of the caller than the call says. Otherwise, identical calls may be somebody else's. */
  get isStated(): boolean {
    const { caller, user, oneCaller } = this.context
    return oneCaller === true || isText(caller) || isText(user) || this.bound?.runsProgram === false
  }

  /**
   * Only calls of one scope share results: a tool may call others with the rights of its caller, and the code of a tool may
   * depend on the user and on `app`.
   */
  get scope(): string {
    const { caller, app, user, tools, flags } = this.context
    // A flag that is false switches a tool off, also one that the tool calls. One that is undefined does not.
    const given = flags === undefined ? [] : Object.keys(flags).filter((flag) => flags[flag] !== undefined)
    const rights = given.sort().map((flag) => (flags?.[flag] === true ? flag : [flag]))
    const isShared = this.bound?.dependsOnCaller !== true || (caller ?? user ?? app) === undefined
    if (isShared && tools === undefined && rights.length === 0) return this.tenant
    const own = isShared ? [] : [caller ?? null, user ?? null, identityOf(app)]
    return JSON.stringify([this.tenant, rights, tools ?? null, ...own])
  }

  /** A key may act for several users, who must not get each other's results. */
  get userScope(): string {
    const { user } = this.context
    return user === undefined ? this.tenant : JSON.stringify([this.tenant, user])
  }

  /** A call that continues after an approval has the key that it had before. */
  get idempotencyKey(): string | undefined {
    const { progress } = this
    const isContinued = progress?.root.resumed === true && this.context.parent?.progress === undefined
    return isContinued ? progress.root.key : this.context.idempotencyKey
  }

  get model(): string | undefined {
    return this.context.model
  }

  get schemaHash(): string | undefined {
    return this.bound?.hash
  }

  get version(): string | undefined {
    return this.bound?.version
  }

  get deadline(): number {
    return this.startedMs + this.timeoutMs
  }

  /** Passed on even if this process doesn't trace. */
  get traceparent(): string | undefined {
    const { traceparent } = this.context
    return this.span?.traceparent ?? (isTraceparent(traceparent) ? traceparent : undefined)
  }

  /** A failing tracer must not fail the call. */
  beginSpan(tracer: Tracer): void {
    try {
      this.span = tracer.start('execute_tool', this.tool, this.context.traceparent)
    } catch {
      // The call runs untraced.
    }
  }

  endSpan(errorType: ToolErrorCode | undefined, result: unknown): void {
    const { tool, tenant, runId, model, params, span, cost } = this
    try {
      span?.end({
        tool,
        tenant,
        ...(span.contents && { params, result }),
        ...(runId !== undefined && { runId }),
        ...(model !== undefined && { model }),
        ...(errorType !== undefined && { errorType }),
        ...(cost !== undefined && { cost: inUnits(cost) }),
      })
    } catch {
      // A failing tracer must not fail the call.
    }
  }

  join(execution: Execution): Execution {
    this.execution = execution
    execution.join(this.context.report)
    return execution
  }

  /** Follows work that has begun. Its outcome is that of the call, unless the call ends before it. */
  follow(execution: Execution, work: Promise<unknown>): this {
    this.#state = 'running'
    const failed = (error: unknown): void => {
      execution.end()
      this.#end('failed', error)
    }
    try {
      work.then((value) => {
        execution.end()
        this.#end('returned', value)
      }, failed)
    } catch (thrown) {
      // The promise has its own `then`, and it threw.
      failed(thrown)
    }
    return this
  }

  /** Whether the work that the call follows goes on. */
  get isRunning(): boolean {
    return this.#state === 'running'
  }

  /** What the work returned. Throws what it threw. */
  takeOutcome(): unknown {
    const outcome = this.#outcome
    // The record of the call must not retain it.
    this.#outcome = undefined
    if (this.#state === 'failed') throw outcome
    return outcome
  }

  /** Settles with the work, or rejects at the deadline or when the caller's signal aborts, whichever comes first. */
  outcome(wheel: DeadlineWheel): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#settle = (outcome) => (this.#state === 'failed' ? reject(outcome) : resolve(outcome))
      this.#wheel = wheel
      if (!this.isRunning) {
        this.#stopWaiting()
        return
      }
      if (this.#asking === undefined) wheel.add(this, this.deadline)
      if (this.context.signal) this.#listen(this.context.signal)
    })
  }

  /** Waits for an answer of the client. The deadline moves by as long as it takes. */
  async whileAsking<T>(answer: Promise<T>, clock: Clock): Promise<T> {
    this.#asking ??= { open: 0, sinceMs: clock.now() }
    if (this.#asking.open++ === 0) this.#wheel?.remove(this)
    try {
      return await answer
    } finally {
      const { open, sinceMs } = this.#asking
      this.#asking = open === 1 ? undefined : { open: open - 1, sinceMs }
      if (open === 1) {
        this.timeoutMs += clock.now() - sinceMs
        if (this.#settle !== undefined) this.#wheel?.add(this, this.deadline)
      }
    }
  }

  override expire(): void {
    this.#giveUp(timedOut(this.timeoutMs, this.execution?.task))
  }

  /** The caller's signal aborted, or the executor was closed. */
  handleEvent(): void {
    this.#giveUp(cancelled())
  }

  #listen(signal: CancelSignal): void {
    try {
      signal.addEventListener('abort', this)
      if (signal.aborted) this.handleEvent()
    } catch {
      // Not a real signal: the deadline still applies.
    }
  }

  #unlisten(signal: CancelSignal): void {
    try {
      signal.removeEventListener('abort', this)
    } catch {
      // Not a real signal.
    }
  }

  #giveUp(reason: ToolExecutionError): void {
    if (this.#end('failed', reason)) this.execution?.leave(reason, this.context.report)
  }

  /** True for the first event that ends the call. */
  #end(state: 'returned' | 'failed', outcome: unknown): boolean {
    if (this.#state !== 'running') return false
    this.#state = state
    this.#outcome = outcome
    this.#stopWaiting()
    return true
  }

  #stopWaiting(): void {
    const settle = this.#settle
    if (settle === undefined) return
    this.#settle = undefined
    this.#wheel?.remove(this)
    if (this.context.signal) this.#unlisten(this.context.signal)
    settle(this.#outcome)
    this.#outcome = undefined
  }
}

/** The run that waits for a call, and the place of the call in it. */
export function waitingPlace({ runId, callId, parent }: CallContext): ParentCall['waiting'] {
  if (callId === undefined) return undefined
  const outer = parent?.waiting
  return outer === undefined ? { runId: runId ?? '', callId } : { ...outer, callId: `${outer.callId} ${callId}` }
}

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

const identities = new WeakMap<object, number>()
let lastIdentity = 0

/** Equal for the same object or primitive only. */
function identityOf(value: unknown): string | number {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function')
    return `${typeof value} ${String(value)}`
  const identity = identities.get(value) ?? ++lastIdentity
  identities.set(value, identity)
  return identity
}

/** The requested timeout, clamped to the allowed range, or `usual` if it isn't a number. */
export function clampTimeout(ms: number): number {
  return Math.min(MAX_TIMEOUT_MS, Math.max(MIN_TIMEOUT_MS, ms))
}

export function timedOut(timeoutMs: number, task?: IsolatedTask): ToolExecutionError {
  const waiting = task !== undefined && !task.started ? ' while waiting for a free worker' : ''
  return new ToolExecutionError('TIMEOUT', `Tool execution timed out after ${timeoutMs}ms${waiting}`)
}

export const cancelled = (): ToolExecutionError =>
  new ToolExecutionError('CANCELLED', 'Tool execution was cancelled by the caller')

const SLOW_MS = 1_000
const MAX_STACK = 2_000

/** Logs one call, with its parameters and outcome if it may hold them. A failing log must not fail the call. */
export function logCall(
  log: Log,
  call: Call,
  result: ToolResult,
  clock: Clock,
  mayHold: boolean,
  cause?: unknown,
): void {
  try {
    const slow = result.execution_time_ms > SLOW_MS
    const level = result.success && !slow ? 'info' : 'warn'
    if (!log.isLevelEnabled(level)) return
    const fields = fieldsOf(call, result, clock, mayHold, cause)
    const message = messageOf(result, slow)
    if (log.writeJson !== undefined) log.writeJson(level, fields, message)
    else log[level](JSON.parse(`{${fields}}`), message)
  } catch {
    // There is no other place to report it.
  }
}

/** Serialized and redacted in one pass, the most expensive part of a small call. */
function fieldsOf(call: Call, result: ToolResult, clock: Clock, mayHold: boolean, cause: unknown): string {
  const params = call.params === undefined || !mayHold ? '' : `,"params":${boundedJson(call.params)}`
  const outcome = result.success
    ? `"success":true${mayHold ? `,"result":${boundedJson(result.result)}` : ''}`
    : `"success":false,${mayHold ? failureFields(result, cause) : bareFailureFields(result, cause)}`
  return (
    `"tool":${knownKey(call.tool).name},"tenant":${knownKey(String(call.tenant)).name}${params},${outcome}` +
    `,"execution_time_ms":${result.execution_time_ms},"timestamp":"${isoTime(clock.wall())}"`
  )
}

function failureFields(result: ToolFailure, cause: unknown): string {
  let fields = `"error":${text(result.error)},"error_code":"${result.error_code}"`
  try {
    // The log may name the connection or the line that failed. The envelope must not.
    if (!(cause instanceof Error)) return fields
    const { message, stack } = cause
    const problem = result.error_code === 'SERVICE_UNAVAILABLE' ? connectionProblem(cause) : undefined
    // `fetch` says no more than "fetch failed".
    const reason = [String(message), problem ?? ''].filter((part) => part !== '').join(': ')
    if (reason !== '' && reason !== result.error) fields += `,"reason":${text(reason)}`
    if (result.error_code === 'EXECUTION_ERROR') fields += `,"stack":${text(String(stack), MAX_STACK)}`
  } catch {
    // A getter of the thrown error threw.
  }
  return fields
}

/** Messages repeat parameters. Only the code, the code of the system and the places in the code say nothing of them. */
function bareFailureFields({ error_code }: ToolFailure, cause: unknown): string {
  let fields = `"error_code":"${error_code}"`
  try {
    if (!(cause instanceof Error)) return fields
    const { code, message, stack } = cause as NodeJS.ErrnoException
    if (typeof code === 'string' && SYSTEM_CODE.test(code)) fields += `,"cause":"${code}"`
    if (error_code !== 'EXECUTION_ERROR') return fields
    const lines = String(stack)
      .replace(String(message), () => '')
      .split('\n')
    const frames = lines.filter((line) => FRAME.test(line))
    fields += `,"stack":${text(frames.join('\n'), MAX_STACK)}`
  } catch {
    // A getter of the thrown error threw.
  }
  return fields
}

const SYSTEM_CODE = /^(?:E[A-Z]{3,14}|EAI_[A-Z]{3,10}|UND_ERR_[A-Z_]{3,30})$/
const FRAME = /^ {4}at .*(?::\d+:\d+\)?|<anonymous>\)?)$/

function messageOf(result: ToolResult, slow: boolean): string {
  if (!result.success) return result.error_code === 'TOOL_NOT_FOUND' ? 'Tool not found' : 'Tool call failed'
  return slow ? `Tool '${redactText(result.tool_name)}' was slow: ${result.execution_time_ms}ms` : 'Tool call succeeded'
}

const text = (value: string, maxLength?: number): string => JSON.stringify(redactText(value, maxLength))

let second = Number.NaN
let prefix = ''

/** Caches the current second: `Date.toISOString` is expensive. */
function isoTime(ms: number): string {
  const whole = Math.floor(ms / 1_000)
  if (whole !== second) {
    second = whole
    prefix = new Date(whole * 1_000).toISOString().slice(0, -4)
  }
  return `${prefix}${String(Math.floor(ms - whole * 1_000)).padStart(3, '0')}Z`
}
