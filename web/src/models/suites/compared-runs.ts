import type { ListedSuiteRun } from '../../../../src/server/http/views.ts'
import type { ComparedCase } from '../../../../src/validation/reports/compare-reports.ts'

type Change = Pick<ComparedCase, 'change'>

/** Which cases of a comparison are shown. */
export const CHANGES = {
  all: { label: 'All', fits: (_case: Change) => true },
  different: { label: 'Different', fits: ({ change }: Change) => change === 'better' || change === 'worse' },
  better: { label: 'Better', fits: ({ change }: Change) => change === 'better' },
  worse: { label: 'Worse', fits: ({ change }: Change) => change === 'worse' },
} as const

export type ChangeFilter = keyof typeof CHANGES

type Listed = Pick<ListedSuiteRun, 'id' | 'ended_at' | 'request' | 'error'>

/** The ended runs that share a suite with a run, newest first. */
export function comparable<Run extends Listed>(run: Pick<Listed, 'id' | 'request'>, runs: readonly Run[]): Run[] {
  return runs.filter(
    ({ id, ended_at, error, request }) =>
      id !== run.id &&
      ended_at !== null &&
      error === null &&
      request.suites.some((suite) => run.request.suites.includes(suite)),
  )
}
