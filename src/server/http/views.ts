import type { CallerLimit } from '../../config/callers/caller-limit.ts'
import type { Scope } from '../../config/callers/scopes.ts'
import type { JobState } from '../../core/storage/job-store.ts'
import type { Role, StoredKey } from '../../core/storage/key-store.ts'
import type { Effect, JsonSchema } from '../../core/tool.ts'
import type { CircuitState, ToolHealth } from '../../core/tool-health.ts'
import type { ValidationReport } from '../../validation/reports/validation-report.ts'
import type { BudgetLimits } from '../../validation/running/suite-budget.ts'
import type { Outcome, Stopped } from '../../validation/running/trial.ts'

/** What somebody wants to find out: which models, by which suites, at what cost. */
export interface SuiteRequest {
  /** `provider:model` each. */
  readonly models: readonly string[]
  /** As `GET /api/suites` names them. */
  readonly suites: readonly string[]
  /** How often each case is put. */
  readonly repeat?: number
  /** Only the first cases of each suite. */
  readonly limit?: number
  /** In USD, of all models together. */
  readonly budget?: number
  readonly budget_tokens?: number
  /** Makes all trials anew, also those that a run of the same made before. */
  readonly fresh?: boolean
}

const DEFAULT_USD = 1

/** What the trials may use up. */
export const limitsOf = ({ budget = DEFAULT_USD, budget_tokens }: SuiteRequest): BudgetLimits => ({
  cost: budget,
  ...(budget_tokens !== undefined && { tokens: budget_tokens }),
})

/** A suite that can be run. */
export interface KnownSuite {
  /** What it is asked for by. */
  readonly id: string
  readonly kind: 'generated' | 'file' | 'bfcl'
  /** What it is called in reports. */
  readonly name: string
  /** Of a file; of the others it is found out when they are made. */
  readonly cases?: number
  readonly remark?: string
  /** Why it cannot be run, and what to do. */
  readonly problem?: string
}

/** About what a run will use up. */
export interface SuiteEstimate {
  readonly trials: number
  /** Those of them that a run of the same has made, and that are not made again. */
  readonly made_before: number
  readonly tokens: number
  /** In USD; null where no model has a price. */
  readonly cost: number | null
  /** Whether it costs nothing, for certain. */
  readonly free: boolean
  /** The models whose price is not known. */
  readonly unpriced: readonly string[]
  readonly most: { readonly cost: number; readonly tokens: number | null }
}

/** How far one model is. */
export interface ModelProgress {
  readonly id: string
  readonly trials: number
  readonly passed: number
  readonly failed: number
  readonly not_answered: number
  /** Why it is not asked any more. */
  readonly stopped?: Stopped
}

/** A trial that has just been made. */
export interface LatestTrial {
  readonly suite: string
  readonly model: string
  readonly case: string
  readonly repetition: number
  readonly outcome: Outcome
  readonly message?: string
}

/** How far a run of suites is. */
export interface SuiteProgress {
  readonly trials: number
  /** By an earlier run of the same; they are counted here, and not made again. */
  readonly made_before: number
  readonly made: number
  readonly tokens: number
  readonly cost: number
  readonly models: readonly ModelProgress[]
  /** The newest first. */
  readonly latest: readonly LatestTrial[]
  /** Why the trials do not count for their models, where the store did not take them. */
  readonly not_recorded?: string
}

/** A run of suites as its callers see it, without what came of each trial. */
export interface ListedSuiteRun {
  readonly id: string
  readonly state: JobState
  /** The id of the key that started it. */
  readonly caller: string | null
  readonly created_at: string
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly request: SuiteRequest
  readonly progress: SuiteProgress | null
  /** Why nothing came of it, where that is so. */
  readonly error: string | null
}

export interface SuiteRunView extends ListedSuiteRun {
  /** When it is over; of one that was cancelled, what was found out until then. */
  readonly report: ValidationReport | null
}

/** A tool as the page lists it: everything but its schema, because there may be thousands. */
export interface PageTool {
  readonly name: string
  readonly description: string
  readonly kind: string
  readonly effect: Effect
  /** Where it comes from: `configuration`, or the MCP server that brought it. */
  readonly origin: string
  /** What a tenant must have been given to use it. */
  readonly permissions: readonly string[]
  /** Why it cannot be called; absent where it can. */
  readonly broken?: string
}

/** A tool with its schema. */
export interface WholePageTool extends PageTool {
  readonly parameters: JsonSchema
}

/** The session of the web UI: signed out, local without a key, or signed in with a key. */
export interface Session {
  readonly state: 'signed_out' | 'local' | 'signed_in'
  /** The id of the key, or `local`. */
  readonly id?: string
  readonly name?: string
  readonly tenant?: string
  readonly role?: string
  readonly scopes: readonly Scope[]
  /** Of the server. */
  readonly version: string
}

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

/** What keys can be allowed. */
export interface RolesView {
  readonly roles: readonly { readonly name: Role; readonly scopes: readonly Scope[] }[]
  readonly scopes: readonly { readonly name: Scope; readonly allows: string }[]
}

/** A key as those see it who manage it. */
export interface ShownKey extends Omit<StoredKey, 'hash' | 'tenant'> {
  readonly last_used_at: string | null
}
