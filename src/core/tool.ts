/** A JSON Schema, as it was written: nothing in it is trusted until `guardSchema` has walked it. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** The parameters of one call. */
export type Params = Record<string, unknown>

/** What a call does to the world: only `read` and `idempotent` calls are ever repeated. */
export type Effect = 'read' | 'idempotent' | 'write'

/** How a tool is run: `type` names the kind, the rest is the kind's own. */
export interface Implementation {
  readonly type: string
  readonly handler?: string
  readonly [option: string]: unknown
}

/** A tool as its author wrote it; the keys are those of the configuration file. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly implementation: Implementation
  /** A label, never looked up. */
  readonly type?: string
  /** A label, never looked up: `implementation.handler` is. */
  readonly handler?: string
  readonly timeout_ms?: number
  readonly permissions?: readonly string[]
  readonly effect?: Effect
  readonly retry?: { readonly max_attempts: number; readonly backoff_ms?: number }
  readonly cache?: { readonly ttl_ms: number }
  readonly max_concurrency?: number
  readonly max_result_bytes?: number
  readonly rate_limit?: { readonly calls: number; readonly per_ms: number }
}
