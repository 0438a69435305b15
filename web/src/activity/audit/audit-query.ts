import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query'
import type { ShownRow } from '../../../../src/server/http/views.ts'
import { serverIsUp } from '../../api/connection.ts'
import { requestJson } from '../../api/request.ts'
import { type AuditView, auditPath } from './audit-view.ts'

const PAGE_ROWS = '50'
/** How often the first page is loaded again. Hidden tabs don't refresh. */
const LIVE_MS = 5_000

/** The rows of a view, page by page. Loads more only on request. */
export const auditQuery = (view: AuditView) =>
  infiniteQueryOptions({
    queryKey: ['audit', view],
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam === '' ? {} : { cursor: pageParam }
      return requestJson<{ rows: ShownRow[]; next?: string }>(
        auditPath(view, Date.now(), { limit: PAGE_ROWS, ...cursor }),
        { signal },
      )
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    // Later pages would shift.
    refetchInterval: ({ state }) => serverIsUp() && (state.data?.pages.length ?? 1) === 1 && LIVE_MS,
    refetchOnWindowFocus: false,
  })
