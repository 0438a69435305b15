import type { Outcome } from '../running/trial.ts'
import type { FailureKind, ObservedTurn } from '../suites/suite.ts'

export const REPORT_VERSION = 1

/** Counts by outcome. `rate` and `lower_bound` refer to judged trials: passed or failed. */
export interface Count {
  readonly passed: number
  readonly failed: number
  readonly not_answered: number
  readonly not_run: number
  /** Null if no trial was judged. */
  readonly rate: number | null
  /** The lower end of Wilson's 95 % confidence interval. */
  readonly lower_bound: number | null
}

export interface ReportedSuite {
  readonly name: string
  readonly hash: string
  readonly cases: number
  /** A caveat shown beside the results. */
  readonly remark?: string
}

export interface ReportedModel {
  readonly id: string
  readonly tokens: number
  /** Null if the price is unknown. */
  readonly cost: number | null
  /** Why it was stopped early. */
  readonly stopped?: { readonly reason: 'not_answered' | 'budget' | 'cancelled'; readonly message: string }
}

/** A cell of the matrix. */
export interface Cell extends Count {
  readonly suite: string
  readonly model: string
  /** Null for the whole suite; `""` for cases where no call is right. */
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
  /** The last user message. */
  readonly query: string
  /** The tools that the case is about; empty if no call is right. */
  readonly about: readonly string[]
  readonly kind?: FailureKind
  readonly message?: string
  readonly tool?: string
  readonly expected?: unknown
  readonly actual?: unknown
  /** The whole expectation, if the trial didn't pass. */
  readonly expectation?: unknown
  readonly turns?: readonly ObservedTurn[]
  readonly tokens?: number
  readonly cost?: number
  readonly duration_ms?: number
  readonly at?: string
  /** Taken over from an earlier run. */
  readonly resumed?: true
}

export interface GateResult {
  readonly threshold: number
  readonly met: boolean
  /** The models below the threshold, by suite. */
  readonly missed: readonly { readonly suite: string; readonly model: string; readonly rate: number | null }[]
}

/** The report of a run; `docs/validate.md` describes the fields. */
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
