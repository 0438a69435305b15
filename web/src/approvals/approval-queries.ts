import { queryOptions, useQuery } from '@tanstack/react-query'
import type { ApprovalView } from '../../../src/app/durable/approvals.ts'
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
    refetchInterval: REFRESH_MS,
  })

export const approvalQuery = (id: string) =>
  queryOptions({
    queryKey: ['approvals', 'one', id],
    queryFn: ({ signal }) => requestJson<ApprovalView>(`/api/approvals/${encodeURIComponent(id)}`, { signal }),
  })

/** The number of pending approvals; undefined if there is nothing to approve here. */
export function usePending(): number | undefined {
  const may = useMay('approve')
  const { data: tools = [] } = useQuery({ ...toolsQuery, enabled: may })
  const guarded = tools.some(({ approval }) => approval === true)
  const { data } = useQuery({ ...approvalsQuery(true), enabled: guarded })
  return guarded ? (data?.pending ?? 0) : undefined
}
