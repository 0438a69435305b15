import type { Hold } from '../costs.ts'
import type { EntryFields, ShownColumns } from '../records/audit-columns.ts'
import type { CallPayload } from '../records/recorder.ts'
import type { ToolFigures } from '../records/tool-metrics.ts'
import type { ToolErrorCode } from '../tool-result.ts'
import type { StoredRun } from './run-store.ts'

/** A call on its way to its audit row. */
export interface CallEntry extends EntryFields {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly tool: string
  /** What budgets have set aside for the call. It is given back when the call is stored. */
  readonly hold?: Hold | undefined
  /** The parameters as JSON text, null if they couldn't be read. Only their keyed hash is stored. */
  readonly params: string | null
  /** The approval that the call asked for or used, with the parameters asked for as JSON text. */
  readonly approval?: { readonly id: string; readonly params: string | null } | undefined
  /** The parameters and the outcome, if they are to be stored. */
  readonly payload?: CallPayload | undefined
  /** Set if the tool called other tools, or was called by one. */
  readonly nesting?: { readonly call_id?: string | undefined; readonly parent_id?: string | undefined } | undefined
  readonly code: ToolErrorCode | null
  /** Whether a failed write may have happened. */
  readonly unknown: boolean
  readonly durationMs: number
  readonly attempts: number
}

/** The turn of a model. It has no audit row: its cost is added to the counters, and to that of its run. */
export interface TurnEntry extends Pick<CallEntry, 'at' | 'tenant' | 'cost' | 'keyId' | 'hold'> {
  /** Grows with every turn of the server, so that a repeated batch is counted once. */
  readonly turn: number
  /** As `provider:model`. */
  readonly model: string
  /** Counts as spent if the cost is unknown. */
  readonly estimate?: number
}

/** What the audit log records besides calls. `*` stands for the whole installation. */
export interface EventEntry extends Pick<CallEntry, 'at' | 'tenant' | 'source'> {
  /** The id of the key that did it; null if nobody is known. */
  readonly caller: string | null
  /** Such as `key.created`. */
  readonly event: string
  /** What it happened to, such as the id of a key. */
  readonly subject: string | null
  /** A JSON object; null if there is nothing to add. */
  readonly detail: string | null
  /** JSON text of which only the keyed hash is stored, as for the parameters of a call. */
  readonly params: string | null
  readonly failed: boolean
  /** How many times it happened. */
  readonly count: number
}

/** The audit chain, and the metrics derived from it. */
export interface Ledger {
  /** Settles when everything is durable. Events count in no metrics. */
  append(
    calls: readonly CallEntry[],
    runs: readonly StoredRun[],
    events?: readonly EventEntry[],
    turns?: readonly TurnEntry[],
  ): Promise<void>
  audit(filter: AuditFilter): Promise<AuditPage>
  /** One row, with the stored parameters and outcome of its call. */
  row(tenant: string | undefined, id: string): Promise<RowWithPayload | undefined>
  /** Checks all chains, also against ends of sections that were stored elsewhere. */
  verify(heads?: readonly ChainHead[]): Promise<AuditReport>
  executions(query: MetricsQuery): Promise<ExecutionMetrics>
  models(query: MetricsQuery): Promise<ModelMetrics>
  /** Calls over time, of one tool or of all. */
  callSeries(query: MetricsQuery & { readonly tool?: string }): Promise<CallSeriesMetrics>
  /** Runs over time, of one model or of all. */
  runSeries(query: MetricsQuery & { readonly model?: string }): Promise<RunSeriesMetrics>
  parameterSets(query: MetricsQuery & { readonly tool: string }): Promise<readonly ParameterSet[]>
  /** The first calls of a version since a time, without those that were refused or cancelled whatever the version. */
  versionCalls(query: VersionQuery): Promise<readonly VersionCall[]>
  /** The calls that count for objectives. */
  objectiveCalls(query: ObjectiveQuery): Promise<readonly ObjectiveCalls[]>
  /** Reads all rows once: verifies every chain, and adds up the rows of a time. */
  summary(query: SummaryQuery): Promise<AuditSummary>
  /** Deletes sealed audit segments, runs and metrics past their retention. Returns the counts. */
  expire(now: number): Promise<{ readonly audit: number; readonly runs: number; readonly figures: number }>
}

export interface VersionQuery {
  /** Undefined: all tenants. */
  readonly tenant: string | undefined
  readonly tool: string
  readonly version: string
  /** Milliseconds since 1970. */
  readonly from: number
  readonly limit: number
  /** Calls that failed with these codes don't count. Default: those that were refused or cancelled. */
  readonly without?: readonly ToolErrorCode[]
}

export interface VersionCall {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly failed: boolean
  readonly ms: number
  /** In millionths of the currency; null if it is unknown. */
  readonly cost?: number | null
}

export interface ObjectiveQuery {
  /** Undefined: all tenants. */
  readonly tenant: string | undefined
  readonly objectives: readonly {
    /** A pattern; undefined: all tools. */
    readonly tool?: string | undefined
    /** Longer calls are slow. */
    readonly slowMs?: number | undefined
  }[]
  /** Calls that failed with these codes don't count. */
  readonly without: readonly ToolErrorCode[]
  /** How far each window looks back, in milliseconds. */
  readonly windows: readonly number[]
  /** How many days to return besides the current one. */
  readonly days: number
}

export interface CallCounts {
  readonly calls: number
  readonly failed: number
  readonly slow: number
}

/** The calls of one objective. */
export interface ObjectiveCalls {
  /** In the order of the query. */
  readonly windows: readonly CallCounts[]
  /** Days (of UTC) with calls, the oldest first. */
  readonly days: readonly (CallCounts & { readonly start: string })[]
}

export interface SummaryQuery {
  /** Undefined: all tenants. */
  readonly tenant: string | undefined
  /** Inclusive, in milliseconds since 1970. */
  readonly from: number
  /** Exclusive. */
  readonly to: number
}

interface SummedCalls {
  readonly calls: number
  /** Without denied calls. */
  readonly failed: number
  /** Failed writes that may have happened. */
  readonly unknown: number
  readonly denied: number
  /** In units of the currency; null if no call has a known cost. */
  readonly cost: number | null
  /** Calls that ran, and whose cost is unknown. They are in no sum. */
  readonly unknown_costs: number
}

/** The calls of one caller of one tool. */
export interface ToolUsage extends SummedCalls {
  readonly tenant: string
  readonly caller: string | null
  /** The id of the API key; null if there was none. */
  readonly key: string | null
  readonly tool: string
  readonly first: string
  readonly last: string
}

export interface DeniedCalls {
  readonly tenant: string
  readonly caller: string | null
  readonly tool: string
  readonly error_code: string
  readonly calls: number
  readonly first: string
  readonly last: string
}

export type SummarisedEvent = Pick<
  AuditRow,
  'id' | 'time' | 'tenant' | 'caller' | 'source' | 'event' | 'subject' | 'outcome' | 'attempts' | 'detail'
>

/** What the audit log says about a time. Every list is bounded: `left_out` counts the entries that it lacks. */
export interface AuditSummary {
  /** The time of the oldest row in the store; null if there is none. */
  readonly first_row: string | null
  /** Up to this time, rows were removed after their retention; null if none were. */
  readonly removed_until: string | null
  readonly totals: SummedCalls
  readonly days: readonly (SummedCalls & { readonly day: string })[]
  readonly usage: readonly ToolUsage[]
  readonly denied: readonly DeniedCalls[]
  readonly approvals: readonly SummarisedEvent[]
  /** Of keys, flags, tenants, the configuration, packages, rollouts and MCP servers. */
  readonly changes: readonly SummarisedEvent[]
  /** Sign-ins, refused keys, and requests for another tenant. */
  readonly access: readonly SummarisedEvent[]
  readonly alerts: readonly SummarisedEvent[]
  readonly left_out: Readonly<Record<'usage' | 'denied' | 'approvals' | 'changes' | 'access' | 'alerts', number>>
  /** The audit log as a whole. */
  readonly integrity: AuditReport
}

export const METRIC_WINDOWS = ['1h', '24h', '7d'] as const
export type MetricWindow = (typeof METRIC_WINDOWS)[number]

export interface MetricsQuery {
  /** Undefined: all tenants, for callers with the scope `installation`. */
  readonly tenant: string | undefined
  readonly window: MetricWindow
}

export interface ExecutionMetrics extends ToolFigures {
  readonly window: MetricWindow
  readonly tools: Readonly<Record<string, ToolFigures>>
}

type Latency = Pick<ToolFigures, 'avg_ms' | 'p50_ms' | 'p95_ms' | 'p99_ms'>

export interface ModelFigures {
  readonly runs: number
  /** Runs with at least one tool call. */
  readonly runs_with_tools: number
  readonly tool_calls: number
  readonly avg_iterations: number
  readonly max_iterations: number
  /** Runs that ended at a limit, by limit. */
  readonly limit_hits: Readonly<Record<string, number>>
  readonly stop_reasons: Readonly<Record<string, number>>
  readonly with_tools: Latency
  readonly without_tools: Latency
  readonly prompt_tokens: number
  readonly completion_tokens: number
  /** Null if the cost of all runs is unknown. */
  readonly cost: number | null
  readonly tools: Readonly<Record<string, { readonly calls: number; readonly failed: number }>>
}

export interface ModelMetrics {
  readonly window: MetricWindow
  readonly models: Readonly<Record<string, ModelFigures>>
  /** Totals per tenant, if all tenants were requested. */
  readonly tenants?: Readonly<
    Record<string, { readonly calls: number; readonly runs: number; readonly cost: number | null }>
  >
}

export interface ParameterSet {
  readonly params_hash: string
  readonly calls: number
}

/** A window in equal buckets, oldest first and without gaps. */
interface Series<Figures> {
  readonly window: MetricWindow
  /** The first bucket may start before the window, the last one is not over yet. */
  readonly bucket_ms: number
  readonly buckets: readonly (Figures & { readonly start: string })[]
}

export interface CallSeriesMetrics extends Series<ToolFigures> {
  readonly tool: string | null
}

export interface RunSeriesMetrics extends Series<Omit<ModelFigures, 'tools'>> {
  readonly model: string | null
}

export interface AuditRow extends ShownColumns {
  /** The chain and the position in it. */
  readonly id: string
  readonly time: string
  /** Covers this row and the hash of the previous one. */
  readonly hash: string
}

export interface RowWithPayload {
  readonly row: AuditRow
  /** JSON text: `params`, `result` or `error`, and `shortened` if it is not complete; null if it is not stored. */
  readonly payload: string | null
}

export interface AuditFilter {
  /** Undefined: all tenants, for callers with the scope `installation`. */
  readonly tenant: string | undefined
  /** Undefined: calls and events. */
  readonly type?: 'call' | 'event' | undefined
  readonly tool?: string | undefined
  readonly caller?: string | undefined
  readonly runId?: string | undefined
  readonly outcome?: AuditRow['outcome'] | undefined
  readonly errorCode?: string | undefined
  /** Inclusive, in milliseconds since 1970. */
  readonly from?: number | undefined
  /** Exclusive, in milliseconds since 1970. */
  readonly to?: number | undefined
  readonly limit: number
  /** `next` of the previous page. */
  readonly cursor?: string | undefined
  /** Adds this many characters of the stored payload of each call. */
  readonly payloadCharacters?: number | undefined
}

export interface AuditPageRow extends AuditRow {
  /** The beginning of the JSON text of the payload; absent if none is stored or the filter doesn't ask for it. */
  readonly payload_start?: string
}

/** Newest rows first. */
export interface AuditPage {
  readonly rows: readonly AuditPageRow[]
  readonly next?: string
}

/** Stands for the chain of a fault that concerns all. */
export const ALL_CHAINS = '*'

export interface AuditFault {
  readonly chain: string
  /** The first invalid row; 0 for all chains. */
  readonly at: number
  readonly problem: string
}

/** One line for people. */
export const faultText = ({ chain, at, problem }: AuditFault): string =>
  `${chain === ALL_CHAINS ? 'All chains' : `${chain}, row ${at}`}: ${problem}`

/** The last row of a sealed section of a chain, and its hash. */
export interface ChainHead {
  readonly chain: string
  readonly seq: number
  readonly hash: string
}

/** The result of `toolyard audit verify`. */
export interface AuditReport {
  readonly chains: number
  readonly rows: number
  /** Rows deleted by retention, according to the seals. */
  readonly expired: number
  readonly seals: number
  /** Rows that are not sealed yet. */
  readonly unsealed: number
  readonly faults: readonly AuditFault[]
  /**
   * Rows of ended chains that should have been sealed; absent if there are none. No fault: without a running server
   * nothing is sealed.
   */
  readonly overdue?: readonly AuditFault[]
}
