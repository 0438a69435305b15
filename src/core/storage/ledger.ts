import type { ToolErrorCode } from '../tool-error-code.ts'
import type { ToolFigures } from '../tool-metrics.ts'
import type { StoredRun } from './run-store.ts'

/** One call, as it is handed to the ledger. */
export interface CallEntry {
  /** When it began, in milliseconds since 1970. */
  readonly at: number
  readonly tenant: string
  readonly caller: string | null
  readonly source: string | null
  readonly runId: string | null
  readonly tool: string
  /** The model that asked for it, where one did. */
  readonly model: string | null
  /** Names the definition that was called; null where there was none. */
  readonly schemaHash: string | null
  /** The parameters as JSON text: hashed with the installation's key and never written; null where they were unreadable. */
  readonly params: string | null
  readonly code: ToolErrorCode | null
  /** True where a write may have happened although it failed. */
  readonly unknown: boolean
  readonly durationMs: number
  readonly attempts: number
}

/** Keeps the audit chain and the figures that are rolled up from the same records. */
export interface Ledger {
  /** Settles when everything in it is written down for good: a crash after that loses nothing. */
  append(calls: readonly CallEntry[], runs: readonly StoredRun[]): Promise<void>
  audit(filter: AuditFilter): Promise<AuditPage>
  /** Walks all chains of the installation. */
  verify(): Promise<AuditReport>
  executions(query: MetricsQuery): Promise<ExecutionMetrics>
  models(query: MetricsQuery): Promise<ModelMetrics>
  /** How calls went over time; without a tool, all of them. */
  callSeries(query: MetricsQuery & { readonly tool?: string }): Promise<CallSeriesMetrics>
  /** How runs went over time; without a model, all of them. */
  runSeries(query: MetricsQuery & { readonly model?: string }): Promise<RunSeriesMetrics>
  /** The most common parameter sets of a tool, by hash. */
  parameterSets(query: MetricsQuery & { readonly tool: string }): Promise<readonly ParameterSet[]>
  /** Removes sealed stretches, runs and figures that are older than they are kept; gives what went. */
  expire(now: number): Promise<{ readonly audit: number; readonly runs: number; readonly figures: number }>
}

export const METRIC_WINDOWS = ['1h', '24h', '7d'] as const
export type MetricWindow = (typeof METRIC_WINDOWS)[number]

export interface MetricsQuery {
  /** Undefined: all tenants together; only for who may see the whole installation. */
  readonly tenant: string | undefined
  readonly window: MetricWindow
}

/** How calls went in a window: all of them, and those of each tool. */
export interface ExecutionMetrics extends ToolFigures {
  readonly window: MetricWindow
  readonly tools: Readonly<Record<string, ToolFigures>>
}

/** How the runs of one model went. */
export interface ModelFigures {
  readonly runs: number
  /** Runs in which the model asked for at least one tool. */
  readonly runs_with_tools: number
  readonly tool_calls: number
  readonly avg_iterations: number
  readonly max_iterations: number
  /** How often a run was ended by its limit, and by which. */
  readonly limit_hits: Readonly<Record<string, number>>
  readonly stop_reasons: Readonly<Record<string, number>>
  readonly with_tools: {
    readonly avg_ms: number
    readonly p50_ms: number
    readonly p95_ms: number
    readonly p99_ms: number
  }
  readonly without_tools: {
    readonly avg_ms: number
    readonly p50_ms: number
    readonly p95_ms: number
    readonly p99_ms: number
  }
  readonly prompt_tokens: number
  readonly completion_tokens: number
  /** Null where no run said what it cost. */
  readonly cost: number | null
  /** What the model asked for, and how that went. */
  readonly tools: Readonly<Record<string, { readonly calls: number; readonly failed: number }>>
}

export interface ModelMetrics {
  readonly window: MetricWindow
  readonly models: Readonly<Record<string, ModelFigures>>
  /** Only where all tenants were asked for: the same figures' sums by tenant. */
  readonly tenants?: Readonly<
    Record<string, { readonly calls: number; readonly runs: number; readonly cost: number | null }>
  >
}

export interface ParameterSet {
  readonly params_hash: string
  readonly calls: number
}

/** How something went in the equal stretches that a window is cut into, the oldest first and none left out. */
interface Series<Figures> {
  readonly window: MetricWindow
  /** How long a stretch is. The first may be cut short by the window, the last one still goes on. */
  readonly bucket_ms: number
  /** Each with when it begins, in ISO 8601. */
  readonly buckets: readonly (Figures & { readonly start: string })[]
}

/** How calls went over time: those of one tool, or, as null, of all. */
export interface CallSeriesMetrics extends Series<ToolFigures> {
  readonly tool: string | null
}

/** How runs went over time: those of one model, or, as null, of all. */
export interface RunSeriesMetrics extends Series<Omit<ModelFigures, 'tools'>> {
  readonly model: string | null
}

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
