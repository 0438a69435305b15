import type { AskableClient, CallContext } from './call-context.ts'
import type { CancelSignal } from './cancellation.ts'
import type { Log } from './log.ts'
import type { Effect, Params, ToolDefinition } from './tool.ts'
import type { FailureExtras, ToolResult } from './tool-result.ts'

/** The second argument of a handler. */
export interface HandlerContext {
  /** Aborts at the deadline, or when the caller cancels. */
  readonly signal: AbortSignal
  readonly tenant: string
  readonly flags: Readonly<Record<string, boolean>>
  /** Reports progress to the caller. */
  report(progress: unknown): void
  readonly log: Log
  /** How long the call may take. A handler that can end earlier with less should do so. Absent in isolated handlers. */
  readonly timeoutMs?: number | undefined
  /** The W3C trace context of this call, to pass on to other services. Absent in isolated handlers. */
  readonly traceparent?: string | undefined
  /** Calls another tool for the same caller, within the deadline of this call. Throws in most isolated handlers. */
  readonly call?: CallTool | undefined
  /** The idempotency key of this call, to pass on to services that take one. Absent in isolated handlers. */
  readonly idempotencyKey?: string | undefined
  /** The tools from the outermost call to the one that made this call. Absent in isolated handlers. */
  readonly callers?: readonly string[] | undefined
  /** Sets what adds details to the envelope if this call fails, also at its deadline. Absent in isolated handlers. */
  onFailure?(details: () => FailureExtras['details']): void
  /** What this call noted before it waited for the approval of one of its calls. Stored if it waits. Only for kinds. */
  readonly progress?: { note: unknown } | undefined
  /** The client of the caller. While it is asked, the deadline of the call stops. Only for kinds. */
  readonly client?: AskableClient | undefined
  /** Aborts with `signal`, and is cheaper to create. Only for kinds. */
  readonly cancellation?: CancelSignal | undefined
  /** Waits for a person: the deadline of the call stops. Only for kinds. */
  whileAsking?<T>(answer: Promise<T>): Promise<T>
  /** The context of calls that this call makes. Only for kinds. */
  child?(): CallContext
  /** The context of this call: who makes it, and what it was offered. Only for kinds. */
  readonly rights?: CallContext | undefined
}

export interface ChildCallOptions {
  /** Identifies the call among those of its parent. If the parent has an idempotency key, the call gets one of its own. */
  readonly step?: string
  /** Cancels the call before its parent ends. */
  readonly signal?: AbortSignal
}

export type CallTool = (name: string, params: unknown, options?: ChildCallOptions) => Promise<ToolResult>

/** The implementation of a tool: returns a JSON value or a promise of one. */
export type Handler = (params: Params, context: HandlerContext) => unknown

/** A handler that runs in a child process. */
export interface IsolatedHandler {
  readonly module: string
  readonly export: string
  /** The text of the module. Identifies the code; without it, `module` does. */
  source?(): string
  /** Whether it may open connections. Node.js older than 25 can't prevent it. */
  readonly network?: boolean
}

/** A task for a child process. */
export interface IsolatedTask extends IsolatedHandler {
  readonly tool: string
  readonly params: unknown
  readonly tenant: string
  readonly flags: Readonly<Record<string, boolean>>
  readonly report: (progress: unknown) => void
  readonly log: Log
  /** Calls a tool for the handler. Without it, the handler can't call any. */
  readonly call?: (name: string, params: unknown) => Promise<ToolResult>
  /** True once a process runs the task; until then it is queued. */
  started: boolean
}

/**
 * Runs code in a process that can be killed. Resolves with the handler's value, or rejects with the handler's error or a
 * `ToolExecutionError`: `SERVICE_UNAVAILABLE` if the queue is full or the pool is closed, `EXECUTION_ERROR` if the
 * process ran out of memory or ended. When `signal` aborts, a waiting task is dropped and a running one is killed; the
 * promise then rejects with the signal's reason.
 */
export interface Isolate {
  /** Prepares a process before the first call, with this module loaded. */
  warm?(module?: string, network?: boolean): void
  run(task: IsolatedTask, signal: AbortSignal): Promise<unknown>
  close(): Promise<void>
}

export interface CircuitState {
  readonly state: 'closed' | 'open' | 'half_open'
  readonly failures: number
  readonly retry_in_ms?: number
  /** When the circuit opened or the trial call began, in milliseconds since 1970. */
  readonly since?: number
}

/** The health of a tool. Parts that it doesn't have are absent. */
export interface ToolHealth {
  readonly circuit?: CircuitState
  /** `remaining`: the calls that may run now, as far as this server knows. */
  readonly rate_limit?: { readonly calls: number; readonly per_ms: number; readonly remaining: number }
  /** The limit and the running calls of all tenants. */
  readonly concurrency?: { readonly most: number; readonly running: number }
}

/** What calls of a tool do, as JSON: an approval holds only as long as it is the same. */
export interface Identity {
  /** With the values of variables, but without secrets: those may be replaced at any time. */
  readonly implementation: unknown
  /** The tools that it calls, whose identities belong to it. */
  readonly calls?: readonly string[]
}

/** A way to implement tools, selected by `implementation.type`. */
export interface Kind {
  /** The JSON Schema of `implementation`. A definition with keys that it doesn't declare is skipped. */
  readonly schema?: { readonly properties: object }
  /** The effect of a tool that doesn't declare one. */
  effect(tool: ToolDefinition): Effect
  /** Why the definition can't be loaded. */
  problem?(tool: ToolDefinition): string | undefined
  /** Why the tool can't run now: models aren't offered it. */
  fault?(tool: ToolDefinition): string | undefined
  /** What the operator should know about a tool that can run. */
  warning?(tool: ToolDefinition): string | undefined
  /**
   * Whether calls run a function of the program, which may know more of its caller than the call says, such as a session. False:
   * none does. Default: all do.
   */
  readonly runsProgram?: false | ((tool: ToolDefinition) => boolean)
  /** The tools that a tool calls. Its results depend on the rights of the caller. */
  callees?(tool: ToolDefinition): readonly string[]
  /** The provider whose accounts of users a tool uses: its results are for one user only. */
  account?(tool: ToolDefinition): string | undefined
  /** Whether a call may ask the client of its caller: its result is for this caller only. */
  asksClient?(tool: ToolDefinition): boolean
  /** Whether a call may ask people: its result is for this call only. */
  asksPeople?(tool: ToolDefinition): boolean
  /** False if a result depends on more of the call than its caller and its parameters: it is for this call only. */
  readonly sharesResults?: false
  /** The description for a caller that may use these of the callees. */
  describe?(tool: ToolDefinition, usable: readonly ToolDefinition[]): string
  /** Whether its tools never run if a model printed the call as text, whatever their effect. */
  readonly neverPrinted?: boolean
  /** The timeout of a tool that doesn't declare one. */
  timeoutMs?(tool: ToolDefinition): number | undefined
  /** The retry policy of tools that don't declare one. */
  retry?(tool: ToolDefinition): ToolDefinition['retry']
  /** The circuit of a tenant; without one, the worst of all tenants. */
  circuit?(tool: ToolDefinition, tenant?: string): CircuitState | undefined
  /** Default: `implementation` as it is written, and the callees. Rejects if it isn't known yet. */
  identity?(tool: ToolDefinition): Identity | Promise<Identity>
  /** Renames parameters to the names that the tool's server expects, before validation. */
  rename?(tool: ToolDefinition, params: Params): Params
  /** Prepares a tool once. The returned function runs at every call, and throws if there is no handler. */
  bind(tool: ToolDefinition): () => Handler | IsolatedHandler
}
