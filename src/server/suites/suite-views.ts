import type { JobState } from '../../core/storage/job-store.ts'
import type { ValidationReport } from '../../validation/reports/validation-report.ts'
import type { Outcome, Stopped } from '../../validation/running/trial.ts'
import type { SuiteRequest } from './suite-request.ts'

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
