import { queryOptions, type UseMutationOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ApprovalDecision, ApprovalView } from '../../../src/app/durable/approvals.ts'
import { serverIsUp } from '../api/connection.ts'
import { toolsQuery, useMay } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'

export interface ApprovalPage {
  readonly approvals: readonly ApprovalView[]
  readonly pending: number
  readonly next?: string
}

const REFRESH_MS = 10_000

export const approvalsQuery = (pending: boolean) =>
  queryOptions({
    queryKey: ['approvals', pending],
    queryFn: ({ signal }) =>
      requestJson<ApprovalPage>(`/api/approvals?limit=100${pending ? '&status=pending' : ''}`, { signal }),
    refetchInterval: () => serverIsUp() && REFRESH_MS,
  })

export const approvalQuery = (id: string) =>
  queryOptions({
    queryKey: ['approvals', 'one', id],
    queryFn: ({ signal }) => requestJson<ApprovalView>(`/api/approvals/${encodeURIComponent(id)}`, { signal }),
  })

/** Sends a decision, and then reads the approvals again. */
export function useDecision<Kept = unknown>(
  id: string,
  on: Pick<UseMutationOptions<ApprovalView, Error, ApprovalDecision, Kept>, 'onMutate' | 'onSuccess' | 'onError'>,
) {
  const client = useQueryClient()
  return useMutation({
    ...on,
    mutationFn: (body: ApprovalDecision) =>
      requestJson<ApprovalView>(`/api/approvals/${encodeURIComponent(id)}`, { method: 'POST', body }),
    onSettled: () => client.invalidateQueries({ queryKey: ['approvals'] }),
  })
}

/** The page after a decision, before the server has confirmed it. */
export function withoutApproval(page: ApprovalPage, id: string): ApprovalPage {
  const approvals = page.approvals.filter((approval) => approval.id !== id)
  return { ...page, approvals, pending: page.pending - (page.approvals.length - approvals.length) }
}

/** The number of pending approvals; undefined if there is nothing to approve here. Runs of tests ask for any write. */
export function usePending(): number | undefined {
  const may = useMay('approve')
  const { data: tools = [] } = useQuery({ ...toolsQuery, enabled: may })
  const { data } = useQuery({ ...approvalsQuery(true), enabled: may })
  const pending = data?.pending ?? 0
  return pending > 0 || tools.some(({ approval }) => approval === true) ? pending : undefined
}
