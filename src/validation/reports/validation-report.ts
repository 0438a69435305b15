import type { FailureKind, ObservedTurn } from '../suites/suite.ts'

export const REPORT_VERSION = 1

/** What a trial came to; `not_run` where it was planned and something stopped the run before. */
export type Outcome = 'passed' | 'failed' | 'not_answered' | 'not_run'

/** How often something came out how. `rate` and `lower_bound` are of those that were judged: passed or failed. */
export interface Count {
  readonly passed: number
  readonly failed: number
  readonly not_answered: number
  readonly not_run: number
  /** Null where none was judged. */
  readonly rate: number | null
  /** What the true rate is at least, with 95 % certainty (Wilson). */
  readonly lower_bound: number | null
}

export interface ReportedSuite {
  readonly name: string
  readonly hash: string
  readonly cases: number
  /** What must be said beside its figures. */
  readonly remark?: string
}

export interface ReportedModel {
  readonly id: string
  readonly tokens: number
  /** Null where its price is not known. */
  readonly cost: number | null
  /** Why it was not asked to the end. */
  readonly stopped?: { readonly reason: 'not_answered' | 'budget' | 'cancelled'; readonly message: string }
}

/** One field of the matrix. */
export interface Cell extends Count {
  readonly suite: string
  readonly model: string
  /** Null for all trials of the suite together; `""` for those in which no call is right. */
  readonly tool: string | null
}

export interface KindCount {
  readonly suite: string
  readonly model: string
  readonly kind: FailureKind
  readonly count: number
}

export interface ReportedTrial {
  readonly suite: string
  readonly model: string
  readonly case: string
  readonly repetition: number
  readonly outcome: Outcome
  /** What the person said last. */
  readonly query: string
  /** The tools that the case is about; empty where no call is right. */
  readonly about: readonly string[]
  readonly kind?: FailureKind
  readonly message?: string
  readonly tool?: string
  readonly expected?: unknown
  readonly actual?: unknown
  /** Where it was not passed: all that the case expects. */
  readonly expectation?: unknown
  /** What the model did. */
  readonly turns?: readonly ObservedTurn[]
  readonly tokens?: number
  readonly cost?: number
  readonly duration_ms?: number
  readonly at?: string
  /** It was made by an earlier run. */
  readonly resumed?: true
}

export interface GateResult {
  readonly threshold: number
  readonly met: boolean
  /** Each model in each suite that is below it. */
  readonly missed: readonly { readonly suite: string; readonly model: string; readonly rate: number | null }[]
}

/** Everything that a run of suites found out; `docs/validate.md` says what each field means. */
export interface ValidationReport {
  readonly version: typeof REPORT_VERSION
  readonly created_at: string
  readonly repetitions: number
  /** Whether every trial was judged. */
  readonly complete: boolean
  readonly gate?: GateResult
  readonly suites: readonly ReportedSuite[]
  readonly models: readonly ReportedModel[]
  readonly matrix: readonly Cell[]
  readonly failures: readonly KindCount[]
  readonly trials: readonly ReportedTrial[]
}
