import type { SuiteRun } from '../running/suite-runner.ts'
import {
  byTool,
  type HashedSuite,
  keyOf,
  type Outcome,
  outcomeOf,
  type PlannedTrial,
  type Trial,
} from '../running/trial.ts'
import type { FailureKind, ObservedTurn } from '../suites/suite.ts'
import { rates } from '../tool-use/tool-use.ts'

const REPORT_VERSION = 1

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
  readonly cost: number | null
  readonly stopped?: { readonly reason: 'not_answered' | 'budget' | 'cancelled'; readonly message: string }
}

export interface Cell extends Count {
  readonly suite: string
  readonly model: string
  /** Null for the whole suite; `""` for cases where no call is right. */
  readonly tool: string | null
}

interface KindCount {
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
  readonly resumed?: true
}

interface GateResult {
  readonly threshold: number
  readonly met: boolean
  readonly missed: readonly { readonly suite: string; readonly model: string; readonly rate: number | null }[]
}

/** The report of a run; `docs/guides/testing-models.md` describes the fields. */
export interface ValidationReport {
  readonly version: typeof REPORT_VERSION
  readonly created_at: string
  readonly repetitions: number
  readonly complete: boolean
  readonly gate?: GateResult
  /** Of the costs. Default: USD. */
  readonly currency?: string
  readonly suites: readonly ReportedSuite[]
  readonly models: readonly ReportedModel[]
  readonly matrix: readonly Cell[]
  readonly failures: readonly KindCount[]
  readonly trials: readonly ReportedTrial[]
}

interface ReportOptions {
  readonly suites: readonly HashedSuite[]
  readonly repetitions: number
  readonly createdAt: string
  /** The rate that every model must reach in every suite. */
  readonly gate?: number | undefined
  readonly currency?: string | undefined
}

export function buildReport(run: SuiteRun, options: ReportOptions): ValidationReport {
  const { suites, repetitions, createdAt, gate, currency } = options
  const trials = run.planned.map((planned) => reported(planned, run.trials.get(keyOf(planned))))
  const matrix = matrixOf(run)
  return {
    version: REPORT_VERSION,
    created_at: createdAt,
    repetitions,
    complete: trials.every(({ outcome }) => outcome === 'passed' || outcome === 'failed'),
    ...(gate !== undefined && { gate: judge(matrix, gate) }),
    ...(currency !== undefined && { currency }),
    suites: suites.map(({ suite: { name, cases, remark }, hash }) => ({
      name,
      hash,
      cases: cases.length,
      ...(remark !== undefined && { remark }),
    })),
    models: modelsOf(run),
    matrix,
    failures: kindsOf(trials),
    trials,
  }
}

function reported(planned: PlannedTrial, trial: Trial | undefined): ReportedTrial {
  const { suite, case: asked, repetition, model } = planned
  const known = {
    suite: suite.suite.name,
    model: model.model.id,
    case: asked.id,
    repetition,
    outcome: outcomeOf(trial),
    query: queryOf(planned),
    about: asked.about,
  }
  if (trial === undefined) return known
  const { verdict, turns, tokens, cost, duration_ms, at, resumed } = trial
  const { passed: _passed, ...why } = verdict
  return {
    ...known,
    ...why,
    ...(!verdict.passed && asked.expected !== undefined && { expectation: asked.expected }),
    turns,
    tokens,
    ...(cost !== undefined && { cost }),
    duration_ms,
    at,
    ...(resumed && { resumed }),
  }
}

const queryOf = ({ case: { turns } }: PlannedTrial): string =>
  turns
    .map((turn) => turn.findLast(({ role }) => role === 'user')?.content ?? '')
    .filter((text) => text !== '')
    .join('\n')

/** Counts outcomes per suite and model, in total and for each tool. */
function matrixOf({ planned, trials }: SuiteRun): Cell[] {
  const cells = new Map<string, Pick<Cell, 'suite' | 'model' | 'tool'> & Record<Outcome, number>>()
  for (const one of planned) {
    const trial = trials.get(keyOf(one))
    const place = { suite: one.suite.suite.name, model: one.model.model.id }
    for (const [tool, outcome] of [[null, outcomeOf(trial)] as const, ...byTool(one, trial)]) {
      const key = JSON.stringify([place.suite, place.model, tool])
      const cell = cells.get(key) ?? { ...place, tool, passed: 0, failed: 0, not_answered: 0, not_run: 0 }
      cell[outcome]++
      cells.set(key, cell)
    }
  }
  return [...cells.values()].map((cell) => {
    const judged = cell.passed + cell.failed
    return { ...cell, ...(judged === 0 ? { rate: null, lower_bound: null } : rates(cell.passed, judged)) }
  })
}

function modelsOf({ planned, trials, stopped }: SuiteRun): ReportedModel[] {
  const models = new Map(planned.map(({ model }) => [model.model.id, model]))
  return [...models.values()].map(({ model: { id }, prices }) => {
    const own = [...trials.values()].filter(({ model }) => model.model.id === id)
    const why = stopped.get(id)
    return {
      id,
      tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
      cost: prices === undefined ? null : own.reduce((sum, { cost = 0 }) => sum + cost, 0),
      ...(why !== undefined && { stopped: why }),
    }
  })
}

function kindsOf(trials: readonly ReportedTrial[]): KindCount[] {
  const counts = new Map<string, KindCount>()
  for (const { suite, model, kind } of trials) {
    if (kind === undefined) continue
    const key = JSON.stringify([suite, model, kind])
    counts.set(key, { suite, model, kind, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  return [...counts.values()].sort((a, b) => b.count - a.count)
}

/** Every model must reach the threshold in every suite; one that wasn't judged hasn't. */
function judge(matrix: readonly Cell[], threshold: number): GateResult {
  const missed = matrix
    .filter(({ tool, passed, failed }) => tool === null && !(passed / (passed + failed) >= threshold))
    .map(({ suite, model, rate }) => ({ suite, model, rate }))
  return { threshold, met: missed.length === 0, missed }
}
