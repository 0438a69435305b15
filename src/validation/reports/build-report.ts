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
import { rates } from '../tool-use/tool-use.ts'
import {
  type Cell,
  type GateResult,
  type KindCount,
  REPORT_VERSION,
  type ReportedModel,
  type ReportedTrial,
  type ValidationReport,
} from './validation-report.ts'

interface ReportOptions {
  readonly suites: readonly HashedSuite[]
  readonly repetitions: number
  /** ISO 8601. */
  readonly createdAt: string
  /** The rate that every model must reach in every suite. */
  readonly gate?: number
}

/** Builds the report of a run. */
export function buildReport(run: SuiteRun, options: ReportOptions): ValidationReport {
  const { suites, repetitions, createdAt, gate } = options
  const trials = run.planned.map((planned) => reported(planned, run.trials.get(keyOf(planned))))
  const matrix = matrixOf(run)
  return {
    version: REPORT_VERSION,
    created_at: createdAt,
    repetitions,
    complete: trials.every(({ outcome }) => outcome === 'passed' || outcome === 'failed'),
    ...(gate !== undefined && { gate: judge(matrix, gate) }),
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
  const counts = new CellCounts()
  for (const one of planned) {
    const trial = trials.get(keyOf(one))
    const place = { suite: one.suite.suite.name, model: one.model.model.id }
    counts.add({ ...place, tool: null }, outcomeOf(trial))
    for (const [tool, outcome] of byTool(one, trial)) counts.add({ ...place, tool }, outcome)
  }
  return counts.cells()
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

type Place = Pick<Cell, 'suite' | 'model' | 'tool'>
type Counted = { -readonly [Key in Outcome]: number }

/** Counts the cells of the matrix, in order of appearance. */
class CellCounts {
  readonly #counts = new Map<string, { readonly place: Place; readonly counted: Counted }>()

  add(place: Place, outcome: Outcome): void {
    const key = JSON.stringify([place.suite, place.model, place.tool])
    let found = this.#counts.get(key)
    if (found === undefined) {
      found = { place, counted: { passed: 0, failed: 0, not_answered: 0, not_run: 0 } }
      this.#counts.set(key, found)
    }
    found.counted[outcome]++
  }

  cells(): Cell[] {
    return [...this.#counts.values()].map(({ place, counted }) => {
      const judged = counted.passed + counted.failed
      const known = judged === 0 ? { rate: null, lower_bound: null } : rates(counted.passed, judged)
      return { ...place, ...counted, ...known }
    })
  }
}
