import type { ReportedTrial } from '../../../../src/validation/reports/build-report.ts'

type Judged = Pick<ReportedTrial, 'suite' | 'case' | 'model' | 'outcome' | 'query' | 'message'>

/** How one model did with one case, in all its repetitions. */
export interface MatrixCell {
  readonly passed: number
  readonly judged: number
  /** Why the last one failed, or was not judged. */
  readonly message?: string
}

/** A case, and each model's result with it. */
export interface MatrixRow {
  readonly suite: string
  readonly case: string
  readonly query: string
  /** In the order of the models. */
  readonly cells: readonly MatrixCell[]
}

export const FILTERS = {
  all: { label: 'All', fits: () => true },
  different: { label: 'Different', fits: ({ cells }: MatrixRow) => new Set(cells.map(stateOf)).size > 1 },
  failures: { label: 'Failures', fits: ({ cells }: MatrixRow) => cells.some((cell) => stateOf(cell) === 'failed') },
} as const

/** Repetitions must all pass. */
export function stateOf({ passed, judged }: MatrixCell): 'passed' | 'failed' | 'not judged' {
  if (judged === 0) return 'not judged'
  return passed === judged ? 'passed' : 'failed'
}

/** The cases of a run as rows, with a cell for each model. */
export function caseMatrix(trials: readonly Judged[]): {
  readonly models: readonly string[]
  readonly rows: readonly MatrixRow[]
} {
  const models = [...new Set(trials.map(({ model }) => model))]
  const groups = Map.groupBy(trials, (trial) => JSON.stringify([trial.suite, trial.case]))
  const rows = [...groups.values()].map((own): MatrixRow => {
    const [first] = own as [Judged, ...Judged[]]
    const cells = models.map((model) => cellOf(own.filter((trial) => trial.model === model)))
    return { suite: first.suite, case: first.case, query: first.query, cells }
  })
  return { models, rows }
}

function cellOf(trials: readonly Judged[]): MatrixCell {
  const count = (outcome: Judged['outcome']) => trials.filter((trial) => trial.outcome === outcome).length
  const message = trials.findLast((trial) => trial.outcome !== 'passed')?.message
  const passed = count('passed')
  return { passed, judged: passed + count('failed'), ...(message !== undefined && { message }) }
}
