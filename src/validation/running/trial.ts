import { hash } from 'node:crypto'
import { canonicalText } from '../../core/schema/canonical-text.ts'
import { costOf } from '../../models/catalogue/cost-of.ts'
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

/** The trials of one model, in the order in which they are made: every case once before any of them is repeated. */
export function planTrials(suites: readonly HashedSuite[], model: TriedModel, repeat: number): PlannedTrial[] {
  const trials: PlannedTrial[] = []
  for (let repetition = 1; repetition <= repeat; repetition++) {
    for (const suite of suites) {
      for (const one of suite.suite.cases) trials.push({ suite, case: one, repetition, model })
    }
  }
  return trials
}

const LENGTH = 16

/** Tells a suite from one that asks something else: what is expected is no part of it, since old answers are judged anew. */
export function hashSuite(suite: Suite): HashedSuite {
  const cases = suite.cases.map(({ id, turns, tools, mocks, max_iterations }) => ({
    id,
    turns,
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    mocks,
    max_iterations,
  }))
  return { suite, hash: hash('sha256', canonicalText({ name: suite.name, cases })).slice(0, LENGTH) }
}

const BYTES_PER_TOKEN = 4
/** A call, or a sentence. */
const ANSWER_TOKENS = 100

/** About what trials will use up: a guess, from the length of what is sent. */
export function estimate(trials: readonly PlannedTrial[]): Spent {
  const prompts = new Map<SuiteCase, number>()
  let tokens = 0
  let cost: number | undefined
  for (const { case: asked, model } of trials) {
    const questions = questionsOf(asked)
    const prompt = prompts.get(asked) ?? questions * promptTokens(asked)
    prompts.set(asked, prompt)
    const completion = questions * ANSWER_TOKENS
    tokens += prompt + completion
    const one = costOf(model.prices, prompt, completion)
    if (one !== undefined) cost = (cost ?? 0) + one
  }
  return { tokens: Math.round(tokens), ...(cost !== undefined && { cost }) }
}

/** One turn is a question with its calls, and an answer after them where that is looked at. */
const questionsOf = ({ turns, max_iterations }: SuiteCase): number => turns.length * Math.min(2, max_iterations)

function promptTokens({ turns, tools }: SuiteCase): number {
  const sent = tools.map(({ name, description, parameters }) => [name, description, parameters])
  return Buffer.byteLength(JSON.stringify([turns, sent])) / BYTES_PER_TOKEN
}
