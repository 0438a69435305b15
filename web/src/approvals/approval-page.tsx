import { useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useId, useState } from 'react'
import { Link } from 'wouter'
import type { ApprovalView } from '../../../src/app/durable/approvals.ts'
import { toolQuery } from '../api/queries.ts'
import { announce } from '../parts/announce.tsx'
import { Button } from '../parts/button.tsx'
import { ErrorBoundary } from '../parts/error-boundary.tsx'
import { JsonTree } from '../parts/json-tree.tsx'
import { lazyPart } from '../parts/lazy-part.ts'
import { Failed, Loading, Note } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { ParamsText } from '../tools/params-text.tsx'
import { AnswerQuestion } from './answer-question.tsx'
import { approvalQuery, useDecision } from './approval-queries.ts'
import { Time } from './approvals-page.tsx'
import { isQuestion, questionText } from './question.ts'

const ParamsForm = lazyPart(async () => (await import('../tools/form/params-form.tsx')).ParamsForm)

/** One call that waits for approval, or was decided. */
export function ApprovalPage({ id }: { readonly id: string }) {
  usePageTitle('Approval')
  const { data: approval, error, refetch } = useQuery(approvalQuery(id))
  if (approval === undefined) {
    if (error) return <Failed error={error} what="the approval" again={() => void refetch()} />
    return <Loading what="the approval" />
  }
  const { tool, status, caller_name, requested_at, expires_at, run_id } = approval
  return (
    <>
      <nav aria-label="Breadcrumb" className="text-sm">
        <Link href="/approvals" className="text-accent underline underline-offset-2">
          Approvals
        </Link>
        <span className="text-muted"> / {id.slice(0, 8)}</span>
      </nav>
      <h1 className="mt-2 font-mono text-2xl font-semibold wrap-anywhere">{tool}</h1>
      <p className="mt-2 text-sm text-muted">
        {approval.question === null
          ? `Requested by ${caller_name || 'the application'} on `
          : `MCP server ${approval.question.server} asks during a call by ${caller_name || 'the application'} on `}
        <Time at={requested_at} />
        {status === 'pending' && (
          <>
            , expires <Time at={expires_at} />
          </>
        )}
        {run_id !== null && (
          <>
            {' · '}
            <Link href={`/runs/${run_id}`} className="text-accent underline underline-offset-2">
              Open the run
            </Link>
          </>
        )}
      </p>
      {status !== 'pending' ? (
        <Decided approval={approval} />
      ) : isQuestion(approval) ? (
        <AnswerQuestion asked={approval} />
      ) : (
        <Decide approval={approval} />
      )}
    </>
  )
}

/** The parameters, to be approved as they are or changed, and the decision. */
function Decide({ approval }: { readonly approval: ApprovalView }) {
  const { id, tool, refused, changed: stale } = approval
  const ids = useId()
  const { data: definition } = useQuery(toolQuery(tool))
  const [params, setParams] = useState<Record<string, unknown>>(approval.params)
  const [readable, setReadable] = useState(true)
  const [reason, setReason] = useState('')
  const { mutate, isPending, error } = useDecision(id, {
    onSuccess: ({ status }) => announce(`${status === 'approved' ? 'Approved' : 'Rejected'} ${tool}.`),
  })
  const changed = JSON.stringify(params) !== JSON.stringify(approval.params)
  const said = reason.trim() === '' ? {} : { reason: reason.trim() }
  return (
    <>
      {stale !== null && (
        <div className="mt-4">
          <Note tone="warn">{stale}.</Note>
        </div>
      )}
      <div className="mt-4 grid gap-4 md:grid-cols-2">
        <div className="panel min-w-0 p-4">
          <h2 className="mb-3 text-sm font-medium text-muted">Parameters</h2>
          <ErrorBoundary instead={<Note tone="warn">This schema has no form. Enter the parameters as JSON.</Note>}>
            <Suspense fallback={<Loading what="the form" />}>
              {definition && (
                <ParamsForm schema={definition.parameters} params={params} onParams={setParams} problems={[]} />
              )}
            </Suspense>
          </ErrorBoundary>
        </div>
        <div className="panel flex min-w-0 flex-col p-4">
          <h2 id={`${ids}json`} className="mb-3 text-sm font-medium text-muted">
            Parameters as JSON
          </h2>
          <ParamsText params={params} onParams={setParams} onReadable={setReadable} labelledBy={`${ids}json`} />
        </div>
      </div>
      <label htmlFor={`${ids}reason`} className="mt-4 grid gap-1 text-sm font-medium">
        Reason (the caller sees it if you reject)
        <input
          id={`${ids}reason`}
          className="field"
          maxLength={1_000}
          autoComplete="off"
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      <div className="mt-4 flex flex-wrap items-center gap-3">
        <Button
          look="main"
          disabled={isPending || refused !== null || stale !== null || !readable}
          onClick={() => mutate({ decision: 'approve', ...(changed && { params }), ...said })}
        >
          {changed ? 'Approve with changes' : 'Approve'}
        </Button>
        <Button
          look="danger"
          disabled={isPending || refused !== null}
          onClick={() => mutate({ decision: 'reject', ...said })}
        >
          Reject
        </Button>
        {refused !== null && <span className="text-sm text-muted">{refused}</span>}
      </div>
      {error !== null && (
        <div className="mt-3">
          <Note tone="bad" role="alert">
            {error.message}
          </Note>
        </div>
      )}
    </>
  )
}

const Decided = ({ approval }: { readonly approval: ApprovalView }) => {
  const { status, params, approved_params, decided_by, decided_by_name, decided_at, reason, question, changed } =
    approval
  // Nobody decided: the call ended first.
  const isWithdrawn = question !== null && decided_by === ''
  const words = question === null ? status : status === 'approved' ? 'answered' : 'declined'
  return (
    <div className="mt-4 grid gap-4">
      <Note tone={status === 'approved' ? 'good' : 'warn'}>
        {status === 'expired'
          ? 'It has expired.'
          : isWithdrawn
            ? 'The call ended before somebody answered:'
            : `It was ${words} by ${decided_by_name} on`}
        {decided_at !== null && (
          <>
            {' '}
            <Time at={decided_at} />
          </>
        )}
        {reason !== null && !isWithdrawn ? `: ${reason}` : decided_at !== null && '.'}
      </Note>
      {changed !== null && <Note tone="warn">{changed}.</Note>}
      {isQuestion(approval) ? (
        <Panel title="Question">
          <p className="whitespace-pre-line wrap-anywhere">{questionText(approval)}</p>
        </Panel>
      ) : (
        <Panel title={approved_params === null ? 'Parameters' : 'Requested parameters'}>
          <JsonTree value={params} label="Requested parameters" />
        </Panel>
      )}
      {approved_params !== null && (
        <Panel title={question === null ? 'Approved parameters' : 'Answer'}>
          <JsonTree value={approved_params} label={question === null ? 'Approved parameters' : 'Answer'} />
        </Panel>
      )}
    </div>
  )
}

const Panel = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <section className="panel min-w-0 p-4">
    <h2 className="mb-3 text-sm font-medium text-muted">{title}</h2>
    {children}
  </section>
)
