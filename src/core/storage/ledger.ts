import type { ToolErrorCode } from '../tool-error-code.ts'
import type { AuditFilter, AuditPage, AuditReport } from './audit.ts'
import type {
  CallSeriesMetrics,
  ExecutionMetrics,
  MetricsQuery,
  ModelMetrics,
  ParameterSet,
  RunSeriesMetrics,
} from './metrics.ts'
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
