import type { ToolFigures } from '../tool-metrics.ts'

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
export interface Series<Figures> {
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
