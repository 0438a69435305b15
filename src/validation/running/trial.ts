import { hash } from 'node:crypto'
import { canonicalText } from '../../core/json/canonical-text.ts'
import type { Model, Usage } from '../../models/model.ts'
import { costOf, type ModelPrices } from '../../models/model-info.ts'
import type { ObservedTurn, Suite, SuiteCase, Verdict } from '../suites/suite.ts'

export interface TriedModel {
  readonly model: Model
  readonly prices?: ModelPrices | undefined
}

export interface HashedSuite {
  readonly suite: Suite
  readonly hash: string
}

export interface PlannedTrial {
  readonly suite: HashedSuite
  readonly case: SuiteCase
  readonly repetition: number
  readonly model: TriedModel
}

export interface Spent {
  readonly tokens: number
  readonly cost?: number
}

export interface TrialResult extends Spent {
  readonly verdict: Verdict
  readonly turns: readonly ObservedTurn[]
  readonly usage?: Usage
  readonly duration_ms: number
}

export interface Trial extends PlannedTrial, TrialResult {
  /** ISO 8601: the end of the trial. */
  readonly at: string
  readonly resumed?: true
}

export interface Stopped {
  readonly reason: 'not_answered' | 'budget' | 'cancelled'
  readonly message: string
}

/** Whether the trial says something about the model. */
export const isJudged = ({ verdict }: { readonly verdict: Verdict }): boolean =>
  verdict.passed || verdict.kind !== 'not_answered'

/** The outcome of a planned trial; `not_run` if the run stopped before it. */
export type Outcome = 'passed' | 'failed' | 'not_answered' | 'not_run'

export function outcomeOf(trial: Trial | undefined): Outcome {
  if (trial === undefined) return 'not_run'
  if (!isJudged(trial)) return 'not_answered'
  return trial.verdict.passed ? 'passed' : 'failed'
}

/**
 * The outcome for each tool that the case is about. A failure that names one of these tools says nothing about the
 * others; any other failure counts for all of them.
 */
export function byTool({ case: { about } }: PlannedTrial, trial: Trial | undefined): [string, Outcome][] {
  const outcome = outcomeOf(trial)
  const tools = about.length === 0 ? [''] : [...new Set(about)]
  const blamed = trial !== undefined && !trial.verdict.passed ? trial.verdict.tool : undefined
  const named = outcome === 'failed' && blamed !== undefined && tools.includes(blamed) ? [blamed] : tools
  return named.map((tool) => [tool, outcome])
}

/** Identifies a trial across runs. */
export const keyOf = ({ suite, model, case: { id }, repetition }: PlannedTrial): string =>
  JSON.stringify([suite.hash, model.model.id, id, repetition])

/** The trials of one model in execution order: every case once before the first repetition. */
export function planTrials(suites: readonly HashedSuite[], model: TriedModel, repeat: number): PlannedTrial[] {
  const trials: PlannedTrial[] = []
  for (let repetition = 1; repetition <= repeat; repetition++) {
    for (const suite of suites) {
      for (const one of suite.suite.cases) trials.push({ suite, case: one, repetition, model })
    }
  }
  return trials
}

const HASH_LENGTH = 16

/** Hashes what a suite asks, but not its expectations: stored answers are judged again. */
export function hashSuite(suite: Suite): HashedSuite {
  const cases = suite.cases.map(({ id, turns, tools, mocks, max_iterations }) => ({
    id,
    turns,
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    mocks,
    max_iterations,
  }))
  return { suite, hash: hash('sha256', canonicalText({ name: suite.name, cases })).slice(0, HASH_LENGTH) }
}

const BYTES_PER_TOKEN = 4
const ANSWER_TOKENS = 100

/** Estimates what trials will spend, from the length of their prompts. */
export function estimate(trials: readonly PlannedTrial[]): Spent {
  const prompts = new Map<SuiteCase, number>()
  let tokens = 0
  let cost: number | undefined
  for (const { case: asked, model } of trials) {
    const requests = requestsOf(asked)
    const prompt = prompts.get(asked) ?? requests * promptTokens(asked)
    prompts.set(asked, prompt)
    const completion = requests * ANSWER_TOKENS
    tokens += prompt + completion
    const one = costOf(model.prices, prompt, completion)
    if (one !== undefined) cost = (cost ?? 0) + one
  }
  return { tokens: Math.round(tokens), ...(cost !== undefined && { cost }) }
}

/** A turn is a request for calls, and one for the answer if the case looks at it. */
const requestsOf = ({ turns, max_iterations }: SuiteCase): number => turns.length * Math.min(2, max_iterations)

function promptTokens({ turns, tools }: SuiteCase): number {
  const sent = tools.map(({ name, description, parameters }) => [name, description, parameters])
  return Buffer.byteLength(JSON.stringify([turns, sent])) / BYTES_PER_TOKEN
}
