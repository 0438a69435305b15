import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { ApprovalView } from '../../../src/app/durable/approvals.ts'
import { useAnnounced } from '../parts/announce.tsx'
import { Button } from '../parts/button.tsx'
import { Choice } from '../parts/choice.tsx'
import { count, inDate } from '../parts/figures.ts'
import { Code } from '../parts/section.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { toast } from '../parts/toast.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { written } from '../tools/params-text.tsx'
import { approvalsQuery, useDecision, withoutApproval } from './approval-queries.ts'
import { isQuestion, questionText } from './question.ts'

const SHOWN = [
  { value: 'pending', label: 'pending' },
  { value: 'all', label: 'all' },
]

/** Calls that wait for approval. */
export function ApprovalsPage() {
  usePageTitle('Approvals')
  const [shown, setShown] = useState('pending')
  const { data, error, refetch } = useQuery(approvalsQuery(shown === 'pending'))
  useAnnounced(data === undefined ? '' : waitingText(data.pending))
  return (
    <div className="grid grid-cols-1 gap-4">
      <div className="flex flex-wrap items-end justify-between gap-3">
        <h1 className="text-2xl font-semibold tracking-tight">Approvals</h1>
        <div className="w-40">
          <Choice label="Show" value={shown} options={SHOWN} onChange={setShown} />
        </div>
      </div>
      {data === undefined ? (
        error ? (
          <Failed error={error} what="the approvals" again={() => void refetch()} />
        ) : (
          <Loading what="the approvals" />
        )
      ) : data.approvals.length === 0 ? (
        <Empty title="No calls wait for approval" action={{ label: 'Open the tools', href: '/' }}>
          Calls of tools with <Code>approval</Code> in their definition, and questions of MCP servers, appear here.
        </Empty>
      ) : (
        <ul className="grid grid-cols-1 gap-3">
          {data.approvals.map((approval) => (
            <Entry key={approval.id} approval={approval} />
          ))}
        </ul>
      )}
    </div>
  )
}

const waitingText = (pending: number): string =>
  `${count(pending, 'call')} ${pending === 1 ? 'waits' : 'wait'} for approval.`

const Entry = ({ approval }: { readonly approval: ApprovalView }) => (
  <li className="panel min-w-0 p-4">
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <Link
        href={`/approvals/${encodeURIComponent(approval.id)}`}
        className="font-mono font-medium wrap-anywhere text-accent underline underline-offset-2"
      >
        {approval.tool}
      </Link>
      <span className="text-sm text-muted">
        {approval.status}, {approval.question === null ? 'requested' : `asked by ${approval.question.server} in a call`}{' '}
        by {approval.caller_name || 'the application'} <Time at={approval.requested_at} />
      </span>
      {approval.run_id !== null && (
        <Link href={`/runs/${approval.run_id}`} className="text-sm text-accent underline underline-offset-2">
          its run
        </Link>
      )}
      {approval.status === 'pending' &&
        (approval.question === null ? <Decide approval={approval} /> : <AnswerLink approval={approval} />)}
    </div>
    {approval.changed !== null && <p className="mt-1 text-sm wrap-anywhere">{approval.changed}.</p>}
    {isQuestion(approval) ? (
      <p className="mt-1 line-clamp-3 text-sm wrap-anywhere">{questionText(approval)}</p>
    ) : (
      <p className="mt-1 line-clamp-3 font-mono text-sm wrap-anywhere text-muted">{written(approval.params)}</p>
    )}
  </li>
)

const AnswerLink = ({ approval: { id, tool } }: { readonly approval: ApprovalView }) => (
  <Link
    href={`/approvals/${encodeURIComponent(id)}`}
    aria-label={`Answer the question of ${tool}`}
    className="inline-flex min-h-9 items-center rounded-lg border border-edge bg-panel px-3 py-1 text-sm font-medium hover:bg-sunk sm:ml-auto"
  >
    Answer
  </Link>
)

/** Decides about the call as it is. The entry goes at once, and returns if the server refuses. */
function Decide({ approval: { id, tool, refused, changed } }: { readonly approval: ApprovalView }) {
  const client = useQueryClient()
  const { queryKey } = approvalsQuery(true)
  const { mutate, isPending } = useDecision(id, {
    onMutate: async () => {
      await client.cancelQueries({ queryKey })
      const before = client.getQueryData(queryKey)
      client.setQueryData(queryKey, (page) => page && withoutApproval(page, id))
      return { before }
    },
    onSuccess: (_answer, { decision }) =>
      toast({ text: `${decision === 'approve' ? 'Approved' : 'Rejected'} ${tool}` }),
    onError: (error, _decision, kept) => {
      client.setQueryData(queryKey, kept?.before)
      toast({ text: `${tool} was not decided. ${error.message}` })
    },
  })
  if (refused !== null) return <span className="text-sm text-muted sm:ml-auto">{refused}</span>
  return (
    <span className="flex gap-2 sm:ml-auto">
      <Button
        aria-label={`Approve ${tool}`}
        disabled={isPending || changed !== null}
        onClick={() => mutate({ decision: 'approve' })}
      >
        Approve
      </Button>
      <Button
        look="danger"
        aria-label={`Reject ${tool}`}
        disabled={isPending}
        onClick={() => mutate({ decision: 'reject' })}
      >
        Reject
      </Button>
    </span>
  )
}

export const Time = ({ at }: { readonly at: string }) => <time dateTime={at}>{inDate(at)}</time>
