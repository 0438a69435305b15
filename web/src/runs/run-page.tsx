import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import type { AuditRow } from '../../../src/core/storage/ledger.ts'
import type { RunStep } from '../../../src/core/storage/run-store.ts'
import type { RunView } from '../../../src/server/http/views.ts'
import { serverIsUp } from '../api/connection.ts'
import { runQuery, useMay } from '../api/queries.ts'
import { request, requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { count, inDate, inMoney, inTime } from '../parts/figures.ts'
import { MarkdownView } from '../parts/markdown-view.tsx'
import { excerpt } from '../parts/shortened.ts'
import { Chip, Failed, Loading, Note } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { storedRun } from '../testing/run-state.ts'
import { RunTurns } from '../testing/run-turns.tsx'
import { StopChip } from '../testing/stop-chip.tsx'
import { threadAddress } from '../testing/thread-list.tsx'
import { useThreads } from '../testing/thread-store.ts'
import { threadOfRun } from '../testing/threads.ts'
import { callLinks } from './call-links.ts'
import { RateAnswer } from './rate-answer.tsx'
import { RunActions } from './run-actions.tsx'
import { runTree, totalOf } from './run-tree.ts'
import { RunTreeView } from './run-tree-view.tsx'
import { StepPanel } from './step-panel.tsx'

const LINK = 'text-accent underline underline-offset-2'
const MAX_TITLE = 160
/** How often a run is loaded again that has not ended. */
const LIVE_MS = 1_500

const isOpen = (run: Pick<RunView, 'status'> | undefined): boolean =>
  run?.status === 'running' || run?.status === 'waiting'

const titleOf = ({ question }: RunView): string => (question === '' ? 'Run' : excerpt(question, MAX_TITLE))

/** The calls of a run in the audit log. The server stores at most 200 steps. */
const callsQuery = (id: string, steps: number) =>
  queryOptions({
    queryKey: ['runs', id, 'calls', steps],
    queryFn: ({ signal }) =>
      requestJson<{ rows: AuditRow[] }>(`/audit?${new URLSearchParams({ type: 'call', run_id: id, limit: '500' })}`, {
        signal,
      }),
    select: ({ rows }) => rows,
  })

/** A stored run, or a durable one that has not ended. */
export function RunPage({ id }: { readonly id: string }) {
  const query = useQuery({
    ...runQuery(id),
    refetchInterval: ({ state }) => serverIsUp() && isOpen(state.data) && LIVE_MS,
  })
  const { data: run, error, refetch } = query
  usePageTitle(run === undefined ? 'Run' : titleOf(run))
  if (run === undefined) {
    return error ? <Failed error={error} what="the run" again={() => void refetch()} /> : <Loading what="the run" />
  }
  return <WholeRun run={run} />
}

function WholeRun({ run }: { readonly run: RunView }) {
  const { id, steps } = run
  const { data: rows } = useQuery({ ...callsQuery(id, steps.length), enabled: useMay('observe') && !run.mocked })
  const links = useMemo(() => rows && callLinks(steps, rows), [steps, rows])
  const { turns } = storedRun(run)
  const [chosen, setChosen] = useState<string>()
  const step = chosen === undefined ? undefined : steps[Number(chosen)]
  const title = titleOf(run)
  const thread = threadOfRun(useThreads(), id)
  const total = totalOf(run, runTree(run))
  return (
    <>
      <nav aria-label="Breadcrumb" className="text-sm">
        <Link href="/activity/runs" className={LINK}>
          Runs
        </Link>
        <span className="text-muted"> / run {id.slice(0, 8)}</span>
      </nav>
      <h1 className="mt-2 max-w-5xl text-2xl font-semibold tracking-tight text-balance wrap-anywhere">{title}</h1>
      <div className="mt-2 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
        {run.status === 'running' ? <Chip>running</Chip> : <StopChip reason={run.stop_reason} />}
        {run.mocked && <Chip tone="warn">mock results</Chip>}
        {run.agent !== undefined && (
          <Link href={`/tool/${encodeURIComponent(run.agent)}`} className={LINK}>
            Agent {run.agent}
          </Link>
        )}
        <span>{run.model}</span>
        <time dateTime={run.started_at}>{inDate(run.started_at)}</time>
        <span className="tabular-nums">{inTime(run.duration_ms)}</span>
        <span className="tabular-nums">{count(total.tokens, 'token')}</span>
        {total.cost !== undefined && <span className="tabular-nums">{inMoney(total.cost)}</span>}
        <Link href={`/activity/calls?run_id=${encodeURIComponent(id)}`} className={LINK}>
          Its calls
        </Link>
        {thread !== undefined && (
          <Link href={threadAddress(thread.id)} className={LINK}>
            Its thread
          </Link>
        )}
        {run.parent_run !== undefined && (
          <Link href={`/runs/${run.parent_run}`} className={LINK}>
            The run that called it
          </Link>
        )}
      </div>
      {isOpen(run) ? <OpenRun run={run} /> : <RunActions run={run} />}
      <section className="panel mt-4 min-w-0 p-4" aria-labelledby="timeline">
        <h2 id="timeline" className="mb-2 font-medium">
          Timeline
        </h2>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: Esc closes the details from anywhere in the tree. */}
        <div
          className={step === undefined ? '' : 'grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,1fr)_24rem]'}
          onKeyDown={({ key }) => key === 'Escape' && setChosen(undefined)}
        >
          <div className="overflow-x-auto">
            <RunTreeView run={run} links={links} chosen={chosen} choose={setChosen} />
          </div>
          {step !== undefined && (
            <StepPanel
              key={chosen}
              step={step}
              title={step.tool ?? `Turn ${turnOf(steps, step)}`}
              href={callHref(links?.get(Number(chosen)))}
              close={() => setChosen(undefined)}
            />
          )}
        </div>
      </section>
      <section className="panel mt-4 p-4">
        <h2 className="sr-only">What happened</h2>
        {run.question !== title && (
          <>
            <h3 className="font-medium">Query</h3>
            <p className="mt-1 mb-4 break-words whitespace-pre-wrap">{run.question || '(not stored)'}</p>
          </>
        )}
        <h3 className="mb-2 font-medium">Tool Calls ({run.tool_calls})</h3>
        <RunTurns turns={turns} running={false} links={links} />
        {!isOpen(run) && (
          <>
            <h3 className="mt-4 font-medium">Final Response</h3>
            <div className="mt-1 rounded-lg bg-sunk p-3">
              <MarkdownView text={run.answer || '(not stored)'} />
            </div>
            <div className="mt-3">
              <RateAnswer subject={{ run_id: id }} />
            </div>
          </>
        )}
        {run.error !== null && (
          <div className="mt-3">
            <Note tone="bad">{run.error}</Note>
          </div>
        )}
      </section>
    </>
  )
}

const callHref = (row: string | undefined): string | undefined =>
  row === undefined ? undefined : `/activity/calls/${encodeURIComponent(row)}`

/** The place of a model step among the turns. */
const turnOf = (steps: readonly RunStep[], step: RunStep): number =>
  steps.filter(({ type }) => type === 'model').indexOf(step) + 1

/** What the run does now, and the button that cancels it. */
function OpenRun({ run: { id, status } }: { readonly run: RunView }) {
  const client = useQueryClient()
  const mayCancel = useMay('chat')
  const mayApprove = useMay('approve')
  const cancel = useMutation({
    mutationFn: () => request(`/api/runs/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    onSettled: () => client.invalidateQueries({ queryKey: runQuery(id).queryKey }),
  })
  return (
    <div className="mt-3 flex flex-wrap items-center gap-3 text-sm">
      <span role="status">
        {status === 'waiting' ? 'The run waits for approval of its calls.' : 'The run works. This page is live.'}
      </span>
      {status === 'waiting' && mayApprove && (
        <Link href="/approvals" className={LINK}>
          Open the approvals
        </Link>
      )}
      {mayCancel && (
        <Button look="danger" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
          {cancel.isPending ? 'Cancelling …' : 'Cancel the run'}
        </Button>
      )}
      {cancel.error && (
        <Note tone="bad" role="alert">
          {cancel.error.message}
        </Note>
      )}
    </div>
  )
}
