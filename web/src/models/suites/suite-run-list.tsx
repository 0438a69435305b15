import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { ListedSuiteRun } from '../../../../src/server/http/views.ts'
import { suiteRunsQuery } from '../../api/queries.ts'
import { inDate } from '../../parts/figures.ts'
import { Failed } from '../../parts/states.tsx'
import { suiteNames } from './outcomes.ts'
import { StateChip } from './state-chip.tsx'

/** Stored suite runs, newest first. */
export function SuiteRunList() {
  const { data: runs, error, refetch } = useQuery(suiteRunsQuery)
  if (runs === undefined && error)
    return <Failed error={error} what="the runs of suites" again={() => void refetch()} />
  if (runs === undefined || runs.length === 0) return null
  return (
    <section aria-labelledby="suite-runs" className="min-w-0">
      <h2 id="suite-runs" className="text-lg font-semibold">
        Runs of suites
      </h2>
      <ul className="panel mt-2 divide-y divide-line">
        {runs.map((run) => (
          <li key={run.id}>
            <Link
              href={`/models/runs/${run.id}`}
              className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5 hover:bg-sunk"
            >
              <StateChip run={run} />
              <span className="font-medium break-all">{suiteNames(run.request.suites)}</span>
              <span className="text-sm break-all text-muted">{run.request.models.join(', ')}</span>
              <span className="text-sm text-muted tabular-nums">{countsOf(run)}</span>
              <time dateTime={run.created_at} className="ml-auto text-sm text-muted max-sm:ml-0">
                {inDate(run.created_at)}
              </time>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

function countsOf({ progress }: ListedSuiteRun): string {
  if (progress === null) return ''
  const sum = (key: 'passed' | 'failed') => progress.models.reduce((all, one) => all + one[key], 0)
  return `${sum('passed')} passed, ${sum('failed')} failed of ${progress.trials - progress.made_before}`
}
