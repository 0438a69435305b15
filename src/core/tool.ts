import type { CostRule } from './costs.ts'

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

/** Which calls need approval, and who decides. */
export interface ApprovalRule {
  /** Only calls whose parameters match this schema need approval. Default: all. */
  readonly when?: JsonSchema
  /** The roles that decide. Default: `operator` and `admin`. */
  readonly by?: readonly string[]
  /** Whether the caller that asked may decide. */
  readonly self?: boolean
  /** How long it can be decided. Default: 24 hours. */
  readonly expires_ms?: number
}

/** Why and until when a tool or a version of it should no longer be used. */
export interface Deprecation {
  readonly since?: string
  readonly remove_after?: string
  readonly message?: string
  /** The tool to use instead, as `name`, `name@version` or a version. */
  readonly use?: string
}

/** Brings parameters of an older version into the form of the one that has it. */
interface Migration {
  readonly from: string
  /** By the old name: the new name. */
  readonly rename?: Readonly<Record<string, string>>
  readonly defaults?: Readonly<Record<string, unknown>>
  readonly drop?: readonly string[]
}

/** What decides together on which side a call is. */
export const ROLLOUT_SIDES = ['call', 'session', 'tenant'] as const

/** Which versions of a tool callers get. */
export interface Rollout {
  readonly current: string
  /** The version that `percent` of the callers get. */
  readonly candidate?: string
  readonly percent?: number
  /** What always gets the same version: a session, a tenant, or only one call. Default: `session`. */
  readonly by?: (typeof ROLLOUT_SIDES)[number]
  /** Rolls back by itself if the candidate fails more often, by more than `max_error_increase`. */
  readonly guard?: { readonly min_calls?: number; readonly max_error_increase?: number }
}

/** A version of a tool, as `name@version`, and the hash of its definition. */
export type HashedTool = readonly [tool: string, hash: string]

/** A tool definition, with the keys of the configuration file. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly implementation: Implementation
  /** A semantic version. Several definitions may share a name if their versions differ. Default: `0.0.0`. */
  readonly version?: string
  readonly deprecated?: Deprecation
  readonly migrate?: readonly Migration[]
  readonly type?: string
  /** A label without effect; `implementation.handler` selects the handler. */
  readonly handler?: string
  readonly timeout_ms?: number
  readonly permissions?: readonly string[]
  readonly effect?: Effect
  readonly retry?: { readonly max_attempts: number; readonly backoff_ms?: number }
  readonly cache?: { readonly ttl_ms: number }
  /** Of a tool whose function belongs to the program: its results are the same for all callers of a tenant. */
  readonly shared?: boolean
  readonly max_concurrency?: number
  readonly max_result_bytes?: number
  /** Calls run only after a person has approved them. */
  readonly approval?: boolean | ApprovalRule
  readonly rate_limit?: { readonly calls: number; readonly per_ms: number }
  /** What a call costs. Without it, the cost of calls is unknown. */
  readonly cost?: CostRule
}
