import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import type { AskableClient, CallContext } from '../call-context.ts'
import { Cancellation, type CancelSignal } from '../cancellation.ts'
import type { CallTool, HandlerContext, IsolatedTask } from '../handler.ts'
import { Linked } from '../linked.ts'
import { type Log, writeLog } from '../log.ts'
import type { Progress } from '../progress.ts'
import type { Params } from '../tool.ts'
import type { FailureExtras, ToolExecutionError } from '../tool-result.ts'
import { callKey } from './result-cache.ts'

export interface ExecutionHost {
  readonly name: string
  running: number
}

type Flags = Readonly<Record<string, boolean>>
type Report = (progress: unknown) => void

/** The call that started an execution. */
interface ExecutionCaller {
  readonly tool: string
  readonly tenant: string
  id: string | undefined
  readonly deadline: number
  readonly flags: Flags
  readonly scope: string
  readonly idempotencyKey: string | undefined
  readonly progress: Progress | undefined
  readonly timeoutMs: number
  readonly traceparent: string | undefined
  readonly context: CallContext
}

/** What all executions of an executor share. */
interface ExecutionParts {
  readonly log: Log
  /** How an execution calls other tools. */
  readonly callBy: (execution: Execution) => CallTool
}

/** One run of a handler, for one call or several identical ones. It is cancelled when its last caller leaves. */
export class Execution {
  readonly host: ExecutionHost
  readonly params: Params
  readonly caller: ExecutionCaller
  readonly parts: ExecutionParts
  /** Set when identical calls may join. */
  work: Promise<unknown> | undefined = undefined
  /** The key of identical calls, computed when another call arrives. */
  key: string | undefined = undefined
  /** Removes it from those that identical calls may join; set when it is added to them. */
  unlist: (() => void) | undefined = undefined
  /** Set if a child process does the work. */
  task: IsolatedTask | undefined = undefined
  /** Details for the envelope of a failed call. */
  details: (() => FailureExtras['details']) | undefined = undefined
  #running = false
  #callers = 0
  #cancellation: Cancellation | undefined = undefined
  /** Each with the same in the async context of its caller: a connection or a process serves several. */
  #reports: { readonly report: Report; readonly bound: Report }[] | undefined = undefined

  constructor(host: ExecutionHost, params: Params, caller: ExecutionCaller, parts: ExecutionParts) {
    this.host = host
    this.params = params
    this.caller = caller
    this.parts = parts
  }

  /** From here on it counts against the tool's concurrency limit. */
  begin(): void {
    this.#running = true
    this.host.running++
  }

  /** Created lazily: most handlers never use it. */
  get cancellation(): Cancellation {
    this.#cancellation ??= new Cancellation()
    return this.#cancellation
  }

  get cancelled(): boolean {
    return this.#cancellation?.aborted === true
  }

  join(report: Report | undefined): void {
    this.#callers++
    if (report === undefined) return
    this.#reports ??= []
    this.#reports.push({ report, bound: AsyncLocalStorage.bind(report) })
  }

  leave(reason: ToolExecutionError, report: Report | undefined): void {
    const left = this.#reports?.findIndex((one) => one.report === report) ?? -1
    if (left >= 0) this.#reports = this.#reports?.toSpliced(left, 1)
    if (--this.#callers > 0) return
    this.end()
    this.cancellation.abort(reason)
  }

  /** Frees the concurrency slot, even if a cancelled handler continues. */
  end(): void {
    if (!this.#running) return
    this.#running = false
    this.host.running--
    this.unlist?.()
  }

  report(progress: unknown): void {
    if (this.#reports === undefined || !this.#running) return
    for (const { bound } of this.#reports) {
      try {
        bound(progress)
      } catch (error) {
        writeLog(this.parts.log, 'warn', { err: error, tool: this.host.name }, 'A progress listener failed')
      }
    }
  }
}

/** Handlers must not see it. */
let executionOf: (context: ExecutionContext) => Execution

abstract class ExecutionContext implements HandlerContext {
  static {
    executionOf = (context) => context.#execution
  }

  abstract readonly call: CallTool
  readonly #execution: Execution

  constructor(execution: Execution) {
    this.#execution = execution
  }

  get signal(): AbortSignal {
    return this.#execution.cancellation.signal
  }

  get idempotencyKey(): string | undefined {
    return this.#execution.caller.idempotencyKey
  }

  get tenant(): string {
    return this.#execution.caller.tenant
  }

  get flags(): Flags {
    return this.#execution.caller.flags
  }

  get log(): Log {
    return this.#execution.parts.log
  }

  get timeoutMs(): number | undefined {
    return this.#execution.caller.timeoutMs
  }

  get traceparent(): string | undefined {
    return this.#execution.caller.traceparent
  }

  /** Bound, so that a handler may destructure it. */
  get report(): Report {
    const execution = this.#execution
    return (progress) => execution.report(progress)
  }
}

/** The context of a kind. Tools in code can't set details, which must be JSON. */
export class KindContext extends ExecutionContext {
  readonly call: CallTool
  readonly child: NonNullable<HandlerContext['child']>
  readonly client: AskableClient | undefined
  readonly whileAsking: NonNullable<HandlerContext['whileAsking']>

  constructor(
    execution: Execution,
    call: CallTool,
    child: () => CallContext,
    { client, whileAsking }: Required<Pick<HandlerContext, 'client' | 'whileAsking'>>,
  ) {
    super(execution)
    this.call = call
    this.child = child
    this.client = client
    this.whileAsking = whileAsking
  }

  get cancellation(): CancelSignal {
    return executionOf(this).cancellation
  }

  get rights(): CallContext {
    return executionOf(this).caller.context
  }

  get progress(): Progress | undefined {
    return executionOf(this).caller.progress
  }

  get callers(): readonly string[] | undefined {
    return executionOf(this).caller.context.parent?.path
  }

  /** Bound, so that a kind may destructure it. */
  get onFailure(): NonNullable<HandlerContext['onFailure']> {
    const execution = executionOf(this)
    return (details) => {
      execution.details = details
    }
  }
}

/** The context of a tool in code. Others don't get the user. */
export class CodeContext extends ExecutionContext {
  /** Made when it is read: most tools call no others. */
  get call(): CallTool {
    const execution = executionOf(this)
    return execution.parts.callBy(execution)
  }

  get user(): string | undefined {
    const { user, caller } = executionOf(this).caller.context
    return user ?? caller
  }

  get app(): unknown {
    return executionOf(this).caller.context.app
  }
}

/** The executions that identical calls may join. Keys are computed only when a second call arrives. */
export class JoinableExecutions {
  readonly #unkeyed = new Linked<Execution>()
  /** Its old tables live on (see `Linked`), so an entry is small, and is emptied when the execution ends. */
  readonly #keyed = new Map<string, { execution: Execution | undefined }>()

  get size(): number {
    return this.#unkeyed.size + this.#keyed.size
  }

  /** It stays until it ends. */
  add(execution: Execution): void {
    const { key } = execution
    execution.unlist = key === undefined ? this.#unkeyed.add(execution) : this.#addKeyed(key, execution)
  }

  find(toolHash: string, key: string): Execution | undefined {
    for (const execution of this.#unkeyed) {
      execution.unlist?.()
      execution.key = callKey(toolHash, execution.caller.scope, execution.params)
      this.add(execution)
    }
    return this.#keyed.get(nameOf(key))?.execution
  }

  #addKeyed(key: string, execution: Execution): () => void {
    const place: { execution: Execution | undefined } = { execution }
    const name = nameOf(key)
    this.#keyed.set(name, place)
    return () => {
      if (this.#keyed.get(name) === place) this.#keyed.delete(name)
      place.execution = undefined
    }
  }
}

/** A key contains the parameters of its call. */
const MAX_NAME = 200
const nameOf = (key: string): string => (key.length > MAX_NAME ? hash('sha256', key, 'base64') : key)
