import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { SuiteRunView } from '../../../../src/server/http/views.ts'
import { modelsQuery, suiteRunQuery, useMay } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { inDate } from '../../parts/figures.ts'
import { Failed, Loading, Note } from '../../parts/states.tsx'
import { usePageTitle } from '../../parts/use-page-title.ts'
import { CompareRuns } from './compare-runs.tsx'
import { MatrixView } from './matrix-view.tsx'
import { suiteNames } from './outcomes.ts'
import { StateChip } from './state-chip.tsx'
import { SuiteProgressView } from './suite-progress.tsx'
import { TrialList } from './trial-list.tsx'
import { useSuiteRun } from './use-suite-run.ts'

/** A suite run with its progress and results. */
export function SuiteRunPage({ id }: { readonly id: string }) {
  usePageTitle('Run of suites')
  const { data: run, error, refetch } = useSuiteRun(id)
  const models = useQuery(modelsQuery)
  if (run === undefined) {
    return error ? <Failed error={error} what="the run" again={() => void refetch()} /> : <Loading what="the run" />
  }
  const { request, report } = run
  return (
    <div className="grid grid-cols-1 gap-5">
      <div>
        <nav aria-label="Breadcrumb" className="text-sm">
          <Link href="/models" className="text-accent underline underline-offset-2">
            Models
          </Link>
          <span className="text-muted"> / run of suites</span>
        </nav>
        <h1 className="mt-2 text-2xl font-semibold tracking-tight break-words">{suiteNames(request.suites)}</h1>
        <div className="mt-2 flex flex-wrap items-center gap-x-3 gap-y-2 text-sm text-muted">
          <StateChip run={run} />
          <time dateTime={run.created_at}>{inDate(run.created_at)}</time>
          {(request.repeat ?? 1) > 1 && <span>each case {request.repeat} times</span>}
          {request.limit !== undefined && <span>the first {request.limit} cases of each suite</span>}
          <CopyButton text={location.href} label="Copy link" />
          <Cancel run={run} />
        </div>
      </div>
      {run.error !== null && (
        <Note tone="bad" role="alert">
          {run.error}
        </Note>
      )}
      {run.progress === null && run.ended_at === null && <Loading what="the first trial" />}
      {run.progress !== null && (
        <SuiteProgressView progress={run.progress} running={run.ended_at === null} models={models.data ?? []} />
      )}
      {report?.suites.map(
        ({ name, remark }) => remark !== undefined && <Note key={name}>{`On ${name}: ${remark}`}</Note>,
      )}
      <CompareRuns run={run} />
      {report !== null && <MatrixView trials={report.trials} />}
      {report !== null && <TrialList run={run.id} trials={report.trials} />}
      {run.ended_at !== null && report?.complete !== true && (
        <Note>Not every case was judged. Run the same suites with the same models again to run the missing cases.</Note>
      )}
    </div>
  )
}

function Cancel({ run }: { readonly run: SuiteRunView }) {
  const client = useQueryClient()
  const mayValidate = useMay('validate')
  const { queryKey } = suiteRunQuery(run.id)
  const cancel = useMutation({
    mutationFn: () => requestJson<SuiteRunView>(`/api/validations/runs/${run.id}`, { method: 'DELETE' }),
    onSuccess: (ended) => client.setQueryData(queryKey, ended),
  })
  if (run.ended_at !== null || !mayValidate) return null
  return (
    <>
      <Button look="danger" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
        {cancel.isPending ? 'Cancelling …' : 'Cancel'}
      </Button>
      {cancel.error && <span className="text-bad">{cancel.error.message}</span>}
    </>
  )
}
