import type { ToolErrorCode } from '../tool-error-code.ts'

/** One row of the audit, as it is shown. */
export interface AuditRow {
  /** Names the row: the chain that it stands in, and its place there. */
  readonly id: string
  /** ISO 8601. */
  readonly time: string
  readonly tenant: string
  readonly caller: string | null
  readonly source: string | null
  readonly run_id: string | null
  readonly tool: string
  /** The model that asked for the call, as `provider:model`. */
  readonly model: string | null
  readonly schema_hash: string | null
  readonly params_hash: string | null
  readonly outcome: 'success' | 'failure' | 'unknown'
  readonly error_code: ToolErrorCode | null
  readonly duration_ms: number
  readonly attempts: number
  /** Over this row and the hash of the one before it in its chain. */
  readonly hash: string
}

export interface AuditFilter {
  /** Undefined: of all tenants; only for who may see the whole installation. */
  readonly tenant: string | undefined
  readonly tool?: string
  readonly caller?: string
  readonly runId?: string
  readonly outcome?: AuditRow['outcome']
  readonly errorCode?: string
  /** From this time on, in milliseconds since 1970. */
  readonly from?: number
  /** Before this time. */
  readonly to?: number
  /** At most so many rows, 1 to 1,000. */
  readonly limit: number
  /** What the page before gave as `next`. */
  readonly cursor?: string
}

/** Newest rows first. */
export interface AuditPage {
  readonly rows: readonly AuditRow[]
  /** Where the next page begins; undefined on the last. */
  readonly next?: string
}

/** What is wrong with a chain, and where. */
export interface AuditFault {
  readonly chain: string
  /** The first row that does not fit; the last good one is before it. */
  readonly at: number
  readonly problem: string
}

/** What `toolyard audit verify` found. */
export interface AuditReport {
  readonly chains: number
  readonly rows: number
  /** Rows that were there and have been removed in order, by their seals. */
  readonly expired: number
  readonly seals: number
  /** Rows that stand in no sealed stretch yet. */
  readonly unsealed: number
  readonly faults: readonly AuditFault[]
}
