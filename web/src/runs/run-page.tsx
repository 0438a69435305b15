import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { runQuery } from '../api/queries.ts'
import { count, inDate, inMoney, inTime } from '../parts/figures.ts'
import { Failed, Loading, Note } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { storedRun } from '../testing/run-state.ts'
import { RunTurns } from '../testing/run-turns.tsx'
import { StopChip } from '../testing/stop-chip.tsx'
import { RunActions } from './run-actions.tsx'
import { RunTreeView } from './run-tree-view.tsx'

/** A stored run. */
export function RunPage({ id }: { readonly id: string }) {
  usePageTitle('Run')
  const { data: run, error, refetch } = useQuery(runQuery(id))
  if (run === undefined) {
    return error ? <Failed error={error} what="the run" again={() => void refetch()} /> : <Loading what="the run" />
  }
  const { turns } = storedRun(run)
  return (
    <>
      <nav aria-label="Breadcrumb" className="text-sm">
        <Link href="/activity/runs" className="text-accent underline underline-offset-2">
          Runs
        </Link>
        <span className="text-muted"> / run {id.slice(0, 8)}</span>
      </nav>
      <h1 className="mt-2 text-2xl font-semibold tracking-tight">Run</h1>
      <div className="mt-2 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
        <StopChip reason={run.stop_reason} />
        <span>{run.model}</span>
        <time dateTime={run.started_at}>{inDate(run.started_at)}</time>
        <span className="tabular-nums">{inTime(run.duration_ms)}</span>
        <span className="tabular-nums">{count(run.prompt_tokens + run.completion_tokens, 'token')}</span>
        {run.cost !== null && <span className="tabular-nums">{inMoney(run.cost)}</span>}
        <Link
          href={`/activity/calls?run_id=${encodeURIComponent(id)}`}
          className="text-accent underline underline-offset-2"
        >
          Its calls
        </Link>
        {run.parent_run !== undefined && (
          <Link href={`/runs/${run.parent_run}`} className="text-accent underline underline-offset-2">
            The run that called it
          </Link>
        )}
      </div>
      <RunActions run={run} />
      <section className="panel mt-4 min-w-0 p-4" aria-labelledby="timeline">
        <h2 id="timeline" className="mb-2 font-medium">
          Timeline
        </h2>
        <div className="overflow-x-auto">
          <RunTreeView run={run} />
        </div>
      </section>
      <section className="panel mt-4 p-4">
        <h2 className="sr-only">What happened</h2>
        <h3 className="font-medium">Query</h3>
        <p className="mt-1 break-words whitespace-pre-wrap">{run.question || '(not stored)'}</p>
        <h3 className="mt-4 mb-2 font-medium">Tool Calls ({run.tool_calls})</h3>
        <RunTurns turns={turns} running={false} />
        <h3 className="mt-4 font-medium">Final Response</h3>
        <p className="mt-1 rounded-lg bg-sunk p-3 break-words whitespace-pre-wrap">{run.answer || '(not stored)'}</p>
        {run.error !== null && (
          <div className="mt-3">
            <Note tone="bad">{run.error}</Note>
          </div>
        )}
      </section>
    </>
  )
}
