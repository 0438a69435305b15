import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { ApprovalView } from '../../../src/app/durable/approvals.ts'
import { Choice } from '../parts/choice.tsx'
import { inDate } from '../parts/figures.ts'
import { Code } from '../parts/section.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { approvalsQuery } from './approval-queries.ts'

const SHOWN = [
  { value: 'pending', label: 'pending' },
  { value: 'all', label: 'all' },
]

/** Calls that wait for approval. */
export function ApprovalsPage() {
  usePageTitle('Approvals')
  const [shown, setShown] = useState('pending')
  const { data, error, refetch } = useQuery(approvalsQuery(shown === 'pending'))
  return (
    <div className="grid grid-cols-1 gap-4">
      <div className="flex flex-wrap items-end justify-between gap-3">
        <h1 className="text-2xl font-semibold tracking-tight">Approvals</h1>
        <Choice label="Show" value={shown} options={SHOWN} onChange={setShown} />
      </div>
      {data === undefined ? (
        error ? (
          <Failed error={error} what="the approvals" again={() => void refetch()} />
        ) : (
          <Loading what="the approvals" />
        )
      ) : data.approvals.length === 0 ? (
        <Empty title="No calls wait for approval" action={{ label: 'Open the tools', href: '/' }}>
          Calls of tools with <Code>approval</Code> in their definition appear here.
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

const Entry = ({ approval }: { readonly approval: ApprovalView }) => (
  <li className="panel min-w-0 p-4">
    <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
      <Link
        href={`/approvals/${encodeURIComponent(approval.id)}`}
        className="font-mono font-medium wrap-anywhere text-accent underline underline-offset-2"
      >
        {approval.tool}
      </Link>
      <span className="text-sm text-muted">
        {approval.status}, requested by {approval.caller_name || 'the application'} <Time at={approval.requested_at} />
      </span>
    </div>
    <p className="mt-1 truncate font-mono text-sm text-muted">{JSON.stringify(approval.params)}</p>
  </li>
)

export const Time = ({ at }: { readonly at: string }) => <time dateTime={at}>{inDate(at)}</time>
