import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query'
import type { AuditPage } from '../../../../src/core/storage/ledger.ts'
import { requestJson } from '../../api/request.ts'
import { type AuditView, auditPath } from './audit-view.ts'

const PAGE_ROWS = '50'

/** The rows of a view, page by page. Loads more only on request. */
export const auditQuery = (view: AuditView) =>
  infiniteQueryOptions({
    queryKey: ['audit', view],
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam === '' ? {} : { cursor: pageParam }
      return requestJson<AuditPage>(auditPath(view, Date.now(), { limit: PAGE_ROWS, ...cursor }), { signal })
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: false,
  })
