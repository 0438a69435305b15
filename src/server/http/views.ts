import type { Scope } from '../../app/callers/callers.ts'
import type { PayloadPolicy } from '../../app/payloads.ts'
import type { DurableStatus } from '../../core/storage/durable-run-store.ts'
import type { JobState } from '../../core/storage/job-store.ts'
import type { AuditRow } from '../../core/storage/ledger.ts'
import type { ListedRun, StoredRun } from '../../core/storage/run-store.ts'
import type { Deprecation, Effect, JsonSchema } from '../../core/tool.ts'
import type { PipelineGraph } from '../../kinds/composite/pipeline.ts'
import type { TrafficMessage, TrafficRequest } from '../../mcp/client/traffic-log.ts'
import type { Message } from '../../models/model.ts'
import type { CatalogueEntry } from '../../packages/sources.ts'
import type { ValidationReport } from '../../validation/reports/build-report.ts'
import type { BudgetLimits } from '../../validation/running/suite-budget.ts'
import type { Outcome, Stopped } from '../../validation/running/trial.ts'

/** A request to run suites with models. */
export interface SuiteRequest {
  /** `provider:model` each. */
  readonly models: readonly string[]
  /** As `GET /api/suites` names them. */
  readonly suites: readonly string[]
  /** How often each case runs. */
  readonly repeat?: number
  /** Only the first cases of each suite. */
  readonly limit?: number
  /** In `costs.currency`, of all models together. */
  readonly budget?: number
  readonly budget_tokens?: number
  /** Start over instead of reusing the trials of an earlier identical run. */
  readonly fresh?: boolean
}

const DEFAULT_BUDGET = 1

export const limitsOf = ({ budget = DEFAULT_BUDGET, budget_tokens }: SuiteRequest): BudgetLimits => ({
  cost: budget,
  tokens: budget_tokens,
})

export interface KnownSuite {
  readonly id: string
  readonly kind: 'generated' | 'file' | 'saved' | 'bfcl'
  /** The name in reports. */
  readonly name: string
  /** For files only: other suites are created when they run. */
  readonly cases?: number
  readonly remark?: string | undefined
  /** Why the suite cannot run, and what to do. */
  readonly problem?: string
}

export interface SuiteEstimate {
  readonly trials: number
  /** Trials of an earlier identical run, which are reused. */
  readonly made_before: number
  readonly tokens: number
  /** In `costs.currency`; null if no model has a price. */
  readonly cost: number | null
  /** Whether all models are free. */
  readonly free: boolean
  /** The models without a known price. */
  readonly unpriced: readonly string[]
  readonly most: { readonly cost: number; readonly tokens: number | null }
}

export interface ModelProgress {
  readonly id: string
  readonly trials: number
  readonly passed: number
  readonly failed: number
  readonly not_answered: number
  /** Why the model gets no more cases. */
  readonly stopped?: Stopped
}

export interface LatestTrial {
  readonly suite: string
  readonly model: string
  readonly case: string
  readonly repetition: number
  readonly outcome: Outcome
  readonly message?: string
}

export interface SuiteProgress {
  readonly trials: number
  /** Trials of an earlier identical run, which are reused. */
  readonly made_before: number
  readonly made: number
  readonly tokens: number
  readonly cost: number
  readonly models: readonly ModelProgress[]
  /** Newest first. */
  readonly latest: readonly LatestTrial[]
  /** Why the trials do not count for the models: the store failed. */
  readonly not_recorded?: string | undefined
}

/** A suite run without its report. */
export interface ListedSuiteRun {
  readonly id: string
  readonly state: JobState
  /** The id of the API key. */
  readonly caller: string | null
  readonly created_at: string
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly request: SuiteRequest
  readonly progress: SuiteProgress | null
  /** Why the run failed; null if it did not. */
  readonly error: string | null
}

export interface SuiteRunView extends ListedSuiteRun {
  /** Null until the run has ended. A cancelled run has a report of the completed trials. */
  readonly report: ValidationReport | null
}

/** The last messages between Toolyard and an MCP server. */
export interface McpTraffic {
  readonly contents: boolean
  readonly messages: readonly (Omit<TrafficMessage, 'at' | 'content'> & {
    readonly time: string
    readonly content?: unknown
  })[]
  readonly requests: readonly (Omit<TrafficRequest, 'at'> & { readonly time: string })[]
  readonly stderr: string
}

/** The answer of an MCP server to a request by hand. */
export interface McpAnswer {
  readonly method: string
  readonly ms: number
  readonly result?: unknown
  /** Whether a part of the result was left out. */
  readonly shortened?: boolean
  readonly error?: { readonly code: number; readonly message: string }
}

/** A row of the audit log, with the name that its key or user has now. */
export interface ShownRow extends AuditRow {
  readonly caller_name: string | null
}

/** A row in the list of calls. */
export interface ListedCall extends ShownRow {
  /** The stored parameters on one line; absent if they are not stored. */
  readonly parameters_preview?: string
}

/** A row of the audit log, with what is stored of its call. */
export interface ShownCall {
  readonly row: ShownRow
  readonly payload: {
    readonly params?: unknown
    readonly result?: unknown
    readonly error?: string
    /** Whether a part was too long to be stored. */
    readonly shortened?: true
  } | null
  readonly payloads: PayloadPolicy
  /** Whether its run is stored. */
  readonly run: boolean
}

export interface ShownChat {
  readonly id: string
  readonly caller: string
  readonly turns: number
  readonly bytes: number
  readonly started_at: string
  readonly updated_at: string
  readonly question: string
}

export interface ChatView extends Pick<ShownChat, 'id' | 'caller'> {
  readonly turns: readonly {
    readonly id: string
    /** Absent in turns of older versions. */
    readonly run_id?: string
    readonly messages: readonly Message[]
  }[]
}

/** The run of an agent below another run. */
export interface AgentRun extends Omit<ListedRun, 'question' | 'answer'> {
  readonly agents: readonly AgentRun[]
}

export interface RunView extends StoredRun {
  /** Of a durable run. */
  readonly status?: DurableStatus
  /** Absent if it called none. */
  readonly agents?: readonly AgentRun[]
}

/** A tool in the list of the web UI. The list has no schemas, because there may be thousands of tools. */
export interface PageTool {
  readonly name: string
  readonly description: string
  readonly kind: string
  readonly effect: Effect
  /** `configuration`, or the name of the MCP server or the package. */
  readonly origin: string
  /** The permissions that a tenant needs. */
  readonly permissions: readonly string[]
  /** Whether calls may need approval. */
  readonly approval?: true
  readonly version?: string
  readonly deprecated?: Deprecation
  /** All versions of the tool, the oldest first; absent if it has one only. */
  readonly versions?: readonly string[]
  /** Why the tool cannot be called. */
  readonly broken?: string | undefined
}

export interface WholePageTool extends PageTool {
  readonly parameters: JsonSchema
  /** The steps of a pipeline, for callers with the scope `observe`. */
  readonly pipeline?: PipelineGraph
}

/** Packages of tools that were added, and those of the catalogue. */
export interface PackagesView {
  readonly packages: readonly ShownPackage[]
  readonly catalogue: readonly CatalogueEntry[]
  /** Why the list is not complete. */
  readonly problem?: string
}

interface ShownPackage {
  readonly name: string
  readonly version: string
  readonly source: string
  readonly fingerprint: string
  readonly granted: readonly string[]
  /** The tools that are loaded. */
  readonly tools: readonly string[]
  /** Why it is not loaded. */
  readonly problem?: string | undefined
}

/** The session of the web UI: signed out, local without a key, or signed in with a key or as a user. */
export interface Session {
  readonly state: 'signed_out' | 'local' | 'signed_in'
  /** The id of the key or the user, or `local`. */
  readonly id?: string
  readonly name?: string
  readonly tenant?: string
  readonly role?: string
  readonly scopes: readonly Scope[]
  /** The user at the issuer, if it is not a key. */
  readonly user?: string
  /** Whether users can sign in at the configured issuer. */
  readonly sign_in?: boolean
  /** Whether the parameters and results of calls are stored; only for callers with the scope `observe`. */
  readonly payloads?: PayloadPolicy
  /** That of budgets and costs. */
  readonly currency?: string
  /** The version of the server. */
  readonly version: string
}
