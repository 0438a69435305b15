/** The port of the package: Toolyard's own types fit these, so the package imports nothing of Toolyard. */

export type JsonSchema = { readonly [keyword: string]: unknown }

export type Params = Record<string, unknown>

export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
}

export interface ToolCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

export type Message =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string | null; readonly tool_calls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly name: string; readonly content: string }

export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Where a function of this package runs: a child process that starts with the first call. */
export interface WorkerOptions {
  /** The name of the model in messages. */
  readonly name: string
  /** The module and the exported function that the process runs. */
  readonly module: string
  readonly export: string
  /** Folders that the process may read. */
  readonly read: readonly string[]
  /** The process ends after this time without a call. */
  readonly idleMs: number
  /** How many calls of one tenant may wait. */
  readonly queue: number
}

export interface Worker {
  /** The process, if there is one. */
  readonly pid: number | undefined
  /** Calls of one tenant run in order; tenants take turns. Rejects with the function's error. */
  run(params: unknown, tenant: string, signal: AbortSignal): Promise<unknown>
  /** Whether a call failed because its process ended, not because the function threw. */
  ended(error: unknown): boolean
  close(): Promise<void>
}

/** What the caller hands to the model. */
export interface MiniHost {
  /** The provider in messages, and the id of the model. */
  readonly provider: string
  readonly id: string
  readonly log: Log
  readonly now: () => Date
  /** The paths of the parameters that a schema rejects, such as `a.b[0]`. */
  readonly check: SchemaCheck
  readonly search: SearchTools
  readonly startWorker: (options: WorkerOptions) => Worker
}

/** The best of these tools for a message, the best first. */
export type SearchTools = (tools: readonly OfferedTool[], said: string, most: number) => Promise<readonly OfferedTool[]>

export type SchemaCheck = (schema: JsonSchema, params: Params) => Promise<readonly string[]>

/** The model did not answer. */
export class MiniError extends Error {
  override readonly name = 'MiniError'
  /** Whether asking again may help. */
  readonly retryable: boolean
  /** The HTTP status, if another than that of a failed model. */
  readonly status: number | undefined

  constructor(message: string, retryable = false, status?: number) {
    super(message)
    this.retryable = retryable
    this.status = status
  }
}

/** Whether a value is a JSON object. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
