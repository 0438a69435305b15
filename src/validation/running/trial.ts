import type { ModelPrices } from '../../models/catalogue/model-info.ts'
import type { Model, Usage } from '../../models/model.ts'
import type { ObservedTurn, Suite, SuiteCase, Verdict } from '../suites/suite.ts'

/** A model to be tried, and what asking it costs. */
export interface TriedModel {
  readonly model: Model
  /** Per million tokens; absent where nobody has said. */
  readonly prices?: ModelPrices
}

/** A suite, and what tells it from one of the same name with other contents. */
export interface HashedSuite {
  readonly suite: Suite
  readonly hash: string
}

/** One run of a case that is to be made. */
export interface PlannedTrial {
  readonly suite: HashedSuite
  readonly case: SuiteCase
  /** Counted from 1. */
  readonly repetition: number
  readonly model: TriedModel
}

/** What was used up by asking. */
export interface Spent {
  readonly tokens: number
  /** Absent where the price is not known. */
  readonly cost?: number
}

/** What a run of a case came to. */
export interface TrialResult extends Spent {
  readonly verdict: Verdict
  readonly turns: readonly ObservedTurn[]
  readonly usage?: Usage
  readonly duration_ms: number
}

/** A run of a case that was made. */
export interface Trial extends PlannedTrial, TrialResult {
  /** ISO 8601: when it was over. */
  readonly at: string
  /** It was made by an earlier run, and is taken over. */
  readonly resumed?: true
}

/** Why no more trials are made with a model. */
export interface Stopped {
  readonly reason: 'not_answered' | 'budget' | 'cancelled'
  /** A sentence. */
  readonly message: string
}

/** Whether the model was judged; else nothing is known of what it can. */
export const isJudged = ({ verdict }: { readonly verdict: Verdict }): boolean =>
  verdict.passed || verdict.kind !== 'not_answered'

/** What a trial is found by, in the file of an earlier run. */
export const keyOf = ({ suite, model, case: { id }, repetition }: PlannedTrial): string =>
  JSON.stringify([suite.hash, model.model.id, id, repetition])
