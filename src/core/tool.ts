/** A JSON Schema. It is untrusted until `guardSchema` has checked it. */
export type JsonSchema = { readonly [keyword: string]: unknown }

export type Params = Record<string, unknown>

/** The side effects of a call: only `read` and `idempotent` calls are retried. */
export type Effect = 'read' | 'idempotent' | 'write'

/** `type` selects the kind; the other keys belong to the kind. */
export interface Implementation {
  readonly type: string
  readonly handler?: string
  readonly [option: string]: unknown
}

/** A role that may decide about approvals. */
export type Approver = 'operator' | 'admin'

/** Which calls need approval, and who decides. */
export interface ApprovalRule {
  /** Only calls whose parameters match this schema need approval. Default: all. */
  readonly when?: JsonSchema
  /** Default: both. */
  readonly by?: readonly Approver[]
  /** Whether the caller that asked may decide. */
  readonly self?: boolean
  /** How long it can be decided. Default: 24 hours. */
  readonly expires_ms?: number
}

/** A tool definition, with the keys of the configuration file. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly implementation: Implementation
  readonly type?: string
  /** A label without effect; `implementation.handler` selects the handler. */
  readonly handler?: string
  readonly timeout_ms?: number
  readonly permissions?: readonly string[]
  readonly effect?: Effect
  readonly retry?: { readonly max_attempts: number; readonly backoff_ms?: number }
  readonly cache?: { readonly ttl_ms: number }
  readonly max_concurrency?: number
  readonly max_result_bytes?: number
  /** Calls run only after a person has approved them. */
  readonly approval?: boolean | ApprovalRule
  readonly rate_limit?: { readonly calls: number; readonly per_ms: number }
}
