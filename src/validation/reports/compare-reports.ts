import { difference, type Interval, normalQuantile } from '../intervals.ts'
import type { ReportedTrial, ValidationReport } from './build-report.ts'

/** How a case ended in one run, over its repetitions. */
export interface ComparedCell {
  readonly passed: number
  /** Passed and failed trials. */
  readonly judged: number
  /** Why the last one failed, or was not judged. */
  readonly message?: string
}

export interface ComparedCase {
  readonly suite: string
  readonly case: string
  /** Null if the runs have no model in common: then each side has all its models. */
  readonly model: string | null
  readonly query: string
  /** Null if the run doesn't have the case. */
  readonly baseline: ComparedCell | null
  readonly contender: ComparedCell | null
  /** Null if one side has no judged trial. */
  readonly change: 'better' | 'worse' | 'same' | null
}

interface ComparedSide {
  readonly passed: number
  readonly judged: number
  readonly rate: number | null
  readonly models: readonly string[]
  readonly tokens: number
  readonly cost: number | null
}

/** Two runs of suites, case by case. */
export interface ReportComparison {
  /** Only cases that both runs have judged count. */
  readonly baseline: ComparedSide
  readonly contender: ComparedSide
  /** How much higher the rate of the contender is, with a 95 % confidence interval. Null if there is nothing to compare. */
  readonly difference: ({ readonly rate: number } & Interval) | null
  readonly verdict: 'better' | 'worse' | 'no_difference' | 'nothing_to_compare'
  /** The verdict for people. */
  readonly sentence: string
  readonly counts: { readonly better: number; readonly worse: number; readonly same: number; readonly other: number }
  /** Suites whose cases have changed between the runs. */
  readonly changed_suites: readonly string[]
  readonly cases: readonly ComparedCase[]
}

const Z = normalQuantile(0.975)

/** Compares two reports: cases of the same model, or of all models if the runs have none in common. */
export function compareReports(baseline: ValidationReport, contender: ValidationReport): ReportComparison {
  const [models, others] = [modelsOf(baseline), modelsOf(contender)]
  const common = models.filter((model) => others.includes(model))
  const keyOf = ({ suite, case: id, model }: ReportedTrial): string =>
    JSON.stringify([suite, id, ...(common.length > 0 ? [model] : [])])
  const isCompared = ({ model }: ReportedTrial) => common.length === 0 || common.includes(model)
  const [before, after] = [baseline, contender].map(({ trials }) => Map.groupBy(trials.filter(isCompared), keyOf)) as [
    Map<string, ReportedTrial[]>,
    Map<string, ReportedTrial[]>,
  ]
  const cases = [...new Set([...before.keys(), ...after.keys()])].map((key): ComparedCase => {
    const [own, other] = [before.get(key), after.get(key)]
    const [first] = (own ?? other) as [ReportedTrial]
    const [one, two] = [own && cellOf(own), other && cellOf(other)]
    return {
      suite: first.suite,
      case: first.case,
      model: common.length > 0 ? first.model : null,
      query: first.query,
      baseline: one ?? null,
      contender: two ?? null,
      change: changeOf(one, two),
    }
  })
  const judged = cases.filter(({ change }) => change !== null)
  const sides = {
    baseline: sideOf(
      baseline,
      judged.map((one) => one.baseline),
    ),
    contender: sideOf(
      contender,
      judged.map((one) => one.contender),
    ),
  }
  const count = (change: ComparedCase['change']) => cases.filter((one) => one.change === change).length
  const counts = { better: count('better'), worse: count('worse'), same: count('same'), other: count(null) }
  const hashes = new Map(baseline.suites.map(({ name, hash }) => [name, hash]))
  const changed = contender.suites.filter(({ name, hash }) => hashes.has(name) && hashes.get(name) !== hash)
  return {
    ...sides,
    ...verdictOf(sides.baseline, sides.contender),
    counts,
    changed_suites: changed.map(({ name }) => name),
    cases,
  }
}

const modelsOf = ({ trials }: ValidationReport): string[] => [...new Set(trials.map(({ model }) => model))]

function cellOf(trials: readonly ReportedTrial[]): ComparedCell {
  const passed = trials.filter(({ outcome }) => outcome === 'passed').length
  const failed = trials.filter(({ outcome }) => outcome === 'failed').length
  const message = trials.findLast(({ outcome }) => outcome !== 'passed')?.message
  return { passed, judged: passed + failed, ...(message !== undefined && { message }) }
}

function changeOf(one: ComparedCell | undefined, two: ComparedCell | undefined): ComparedCase['change'] {
  if (one === undefined || two === undefined || one.judged === 0 || two.judged === 0) return null
  const more = two.passed / two.judged - one.passed / one.judged
  return more > 0 ? 'better' : more < 0 ? 'worse' : 'same'
}

function sideOf({ models }: ValidationReport, cells: readonly (ComparedCell | null)[]): ComparedSide {
  const [passed, judged] = [sum(cells.map((cell) => cell?.passed ?? 0)), sum(cells.map((cell) => cell?.judged ?? 0))]
  const costs = models.map(({ cost }) => cost)
  return {
    passed,
    judged,
    rate: judged === 0 ? null : passed / judged,
    models: models.map(({ id }) => id),
    tokens: sum(models.map(({ tokens }) => tokens)),
    cost: costs.includes(null) ? null : sum(costs as number[]),
  }
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0)

const points = (share: number): string => `${share < 0 ? '−' : '+'}${Math.abs(share * 100).toFixed(1)}`

function verdictOf(
  one: ComparedSide,
  two: ComparedSide,
): Pick<ReportComparison, 'difference' | 'verdict' | 'sentence'> {
  if (one.rate === null || two.rate === null) {
    return { difference: null, verdict: 'nothing_to_compare', sentence: 'The runs have no judged case in common' }
  }
  const bounds = difference({ hits: one.passed, total: one.judged }, { hits: two.passed, total: two.judged }, Z)
  const rate = two.rate - one.rate
  const verdict = bounds.low > 0 ? 'better' : bounds.high < 0 ? 'worse' : 'no_difference'
  const range = `${points(rate)} percentage points, between ${points(bounds.low)} and ${points(bounds.high)} with 95 % confidence`
  const words = {
    better: 'The contender is better',
    worse: 'The contender is worse',
    no_difference: 'No certain difference',
  }
  return { difference: { rate, ...bounds }, verdict, sentence: `${words[verdict]}: ${range}` }
}
