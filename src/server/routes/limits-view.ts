import type { CallerLimit } from '../../config/callers/caller-limit.ts'
import type { CircuitState, ToolHealth } from '../../core/tool-health.ts'

/** The breaker of one tool. */
export interface ShownCircuit extends Omit<CircuitState, 'since'> {
  readonly tool: string
  /** When it was opened, or a trial began. */
  readonly since?: string
}

/** The limits of one tool; what it does not limit is absent. */
export interface ShownToolLimit extends Pick<ToolHealth, 'rate_limit' | 'concurrency'> {
  readonly tool: string
}

/** A limit that stands in the configuration, or could. */
export interface ConfiguredLimit {
  readonly path: string
  readonly description: string
  /** Null where the configuration says nothing. */
  readonly value: number | null
}

/** What a run may use up, by a rule of the configuration. */
export interface ShownBudget {
  readonly path: string
  readonly model: string
  readonly wall_time_ms?: number
  readonly tokens?: number
  readonly cost?: number
}

/** Everything that holds calls back, and how it stands now. */
export interface LimitsView {
  readonly callers: readonly CallerLimit[]
  readonly tools: readonly ShownToolLimit[]
  readonly circuits: readonly ShownCircuit[]
  readonly budgets: readonly ShownBudget[]
  readonly configured: readonly ConfiguredLimit[]
}
