import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { PendingApproval } from '../../../src/chat/run.ts'
import { useMay } from '../api/queries.ts'
import { approvalQuery, useDecision } from '../approvals/approval-queries.ts'
import { announce } from '../parts/announce.tsx'
import { Button } from '../parts/button.tsx'
import { Chip, Note } from '../parts/states.tsx'
import { written } from '../tools/params-text.tsx'

/** Whether all calls that a run waited for are decided: the run goes on. */
export function useDecided(approvals: readonly PendingApproval[]): boolean {
  const mayApprove = useMay('approve')
  return useQueries({
    queries: approvals.map(({ id }) => ({ ...approvalQuery(id), enabled: mayApprove })),
    combine: (found) => found.length > 0 && found.every(({ data }) => data !== undefined && data.status !== 'pending'),
  })
}

/** The calls that a run waits for, each with its decision. */
export const ApproveCalls = ({ approvals }: { readonly approvals: readonly PendingApproval[] }) => (
  <ul aria-label="Calls that wait for approval" className="mt-3 grid grid-cols-1 gap-2">
    {approvals.map((approval) => (
      <li key={approval.id} className="rounded-lg border border-warn bg-warn-ground p-3">
        <ApproveCall approval={approval} />
      </li>
    ))}
  </ul>
)

function ApproveCall({ approval: { id, tool, params } }: { readonly approval: PendingApproval }) {
  const client = useQueryClient()
  const mayApprove = useMay('approve')
  const { data: state } = useQuery({ ...approvalQuery(id), enabled: mayApprove })
  const decide = useDecision(id, {
    onSuccess: (view) => {
      client.setQueryData(approvalQuery(id).queryKey, view)
      announce(`${view.status === 'approved' ? 'Approved' : 'Rejected'} ${tool}.`)
    },
  })
  const refused = state?.refused ?? (mayApprove ? null : 'Your key can’t approve calls. Another person has to.')
  const isOpen = state === undefined || state.status === 'pending'
  return (
    <>
      <p className="text-sm text-warn">
        The model wants to call <span className="font-mono font-medium wrap-anywhere">{tool}</span>. It changes data.
      </p>
      <pre className="mt-2 max-h-48 overflow-auto rounded-lg bg-panel p-2 text-xs" tabIndex={0}>
        {written(params)}
      </pre>
      <div className="mt-2 flex flex-wrap items-center gap-2">
        {isOpen ? (
          <>
            <Button
              look="main"
              disabled={decide.isPending || refused !== null}
              onClick={() => decide.mutate({ decision: 'approve' })}
              aria-label={`Approve ${tool}`}
            >
              Approve
            </Button>
            <Button
              disabled={decide.isPending || refused !== null}
              onClick={() => decide.mutate({ decision: 'reject' })}
              aria-label={`Reject ${tool}`}
            >
              Reject
            </Button>
          </>
        ) : (
          <Chip tone={state.status === 'approved' ? 'good' : 'warn'}>{state.status}</Chip>
        )}
        {isOpen && !decide.isPending && (
          <Link href={`/approvals/${id}`} className="text-sm text-accent underline underline-offset-2">
            Change parameters
          </Link>
        )}
        {refused !== null && isOpen && <span className="text-sm text-muted">{refused}</span>}
      </div>
      {decide.error !== null && (
        <div className="mt-2">
          <Note tone="bad" role="alert">
            {decide.error.message}
          </Note>
        </div>
      )}
    </>
  )
}
