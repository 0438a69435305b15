import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useMay } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { count } from '../../parts/figures.ts'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import { useAddress } from '../address.ts'
import { AuditFilters } from './audit-filters.tsx'
import { auditQuery } from './audit-query.ts'
import { AuditTable } from './audit-table.tsx'
import { type AuditView, auditPath, isNarrowed, TYPES, viewOf } from './audit-view.ts'

/** The audit log. */
export function AuditLog() {
  const mayObserve = useMay('observe')
  const [params, change] = useAddress()
  const view = viewOf(params)
  if (!mayObserve) return <Empty title="Your key can’t view calls">It lacks the scope observe.</Empty>
  const forget = () => change(Object.fromEntries([...Object.keys(view.filters), 'last'].map((name) => [name, ''])))
  return (
    <div className="grid grid-cols-1 gap-3 compact:gap-1">
      <h2 className="sr-only">Audit log</h2>
      <AuditFilters view={view} change={change} />
      <Rows view={view} forget={forget} />
    </div>
  )
}

interface RowsProps {
  readonly view: AuditView
  readonly forget: () => void
}

function Rows({ view, forget }: RowsProps) {
  const client = useQueryClient()
  const one = TYPES[view.filters.type ?? 'call']?.one ?? 'row'
  const query = auditQuery(view)
  const log = useInfiniteQuery(query)
  const rows = useMemo(() => log.data?.pages.flatMap((page) => page.rows) ?? [], [log.data])
  const refresh = () => {
    // Later pages have shifted, so only the first is loaded again.
    client.setQueryData(
      query.queryKey,
      (before) => before && { pages: before.pages.slice(0, 1), pageParams: before.pageParams.slice(0, 1) },
    )
    void log.refetch()
  }
  if (log.data === undefined) {
    if (!log.error) return <Loading what="the audit log" />
    return (
      <>
        <Failed error={log.error} what="the audit log" again={() => void log.refetch()} />
        {isNarrowed(view) && <Clear forget={forget} />}
      </>
    )
  }
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <p role="status" className="mr-auto text-sm text-muted">
          {log.isPlaceholderData ? 'Looking …' : `${count(rows.length, one)}${log.hasNextPage ? ', and more' : ''}`}
        </p>
        {isNarrowed(view) && <Clear forget={forget} />}
        <Button onClick={refresh} disabled={log.isFetching}>
          Refresh
        </Button>
        <Export view={view} at={log.dataUpdatedAt} format="csv" />
        <Export view={view} at={log.dataUpdatedAt} format="json" />
      </div>
      {log.isRefetchError && <Failed error={log.error} what={`newer ${one}s`} />}
      {rows.length > 0 && <AuditTable rows={rows} tenants={view.filters.tenant !== undefined} />}
      {rows.length === 0 && !isNarrowed(view) && (
        <Empty title="No calls yet" action={{ label: 'Open the tools', href: '/' }}>
          Run a tool or test a model. Every call appears here.
        </Empty>
      )}
      {rows.length === 0 && isNarrowed(view) && (
        <Empty title={`No matching ${one}s`} action={{ label: 'Clear the filters', href: location.pathname }}>
          Remove a filter. Names and ids must match exactly.
        </Empty>
      )}
      {log.isFetchNextPageError && <Failed error={log.error} what={`older ${one}s`} />}
      {log.hasNextPage && (
        <Button className="justify-self-center" onClick={() => void log.fetchNextPage()} disabled={log.isFetching}>
          {log.isFetchingNextPage ? 'Loading …' : 'Load more'}
        </Button>
      )}
    </>
  )
}

const Clear = ({ forget }: { readonly forget: () => void }) => (
  <Button className="justify-self-start" onClick={forget}>
    Clear filters
  </Button>
)

interface ExportProps {
  readonly view: AuditView
  readonly at: number
  readonly format: 'csv' | 'json'
}

/** Downloads all matching rows, including those not loaded yet. */
const Export = ({ view, at, format }: ExportProps) => (
  <a
    href={auditPath(view, at, { format })}
    download
    className="inline-flex min-h-9 items-center rounded-lg border border-edge bg-panel px-3 py-1 text-sm font-medium hover:bg-sunk"
  >
    Export {format.toUpperCase()}
  </a>
)
