import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useEffectEvent, useMemo, useRef } from 'react'
import { useConnection } from '../api/connection.ts'
import { requestJson } from '../api/request.ts'
import { Button } from '../parts/button.tsx'
import { count } from '../parts/figures.ts'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { WindowList } from '../parts/virtual-list.tsx'
import { type Filters, listPath } from './list-view.ts'

const PAGE_ROWS = '50'
/** How often the first page is loaded again. */
const LIVE_MS = 3_000

interface Page {
  readonly next?: string
}

interface PagedListProps<Row> {
  readonly path: string
  /** The property of a page with its rows. */
  readonly part: string
  readonly filters: Filters
  /** Sent besides the filters. */
  readonly fixed?: Filters
  readonly one: string
  readonly keyOf: (row: Row) => string
  readonly row: (row: Row) => ReactNode
  readonly empty: ReactNode
  readonly onClear: () => void
  /** What to try if nothing matches the filters. */
  readonly suggestion?: ReactNode
  /** The titles of the columns, for wide windows. They have the classes of a row. */
  readonly head: ReactNode
}

/** A list by pages, newest first: older rows are loaded while scrolling, new ones while only the first page is shown. */
export function PagedList<Row>(props: PagedListProps<Row>) {
  const { path, part, filters, fixed = {}, one, keyOf, row, empty, onClear, suggestion, head } = props
  const { up } = useConnection()
  const query = infiniteQueryOptions({
    queryKey: ['list', path, filters, fixed],
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam === '' ? {} : { cursor: pageParam }
      return requestJson<Page>(listPath(path, filters, Date.now(), { ...fixed, limit: PAGE_ROWS, ...cursor }), {
        signal,
      })
    },
    initialPageParam: '',
    getNextPageParam: ({ next }: Page) => next,
    placeholderData: keepPreviousData,
    // Later pages would shift.
    refetchInterval: ({ state }) => up && (state.data?.pages.length ?? 1) === 1 && LIVE_MS,
    refetchOnWindowFocus: false,
  })
  const list = useInfiniteQuery(query)
  const rows = useMemo(
    () => list.data?.pages.flatMap((page) => (page as Page & Record<string, readonly Row[]>)[part] ?? []) ?? [],
    [list.data, part],
  )
  if (list.data === undefined) {
    if (!list.error) return <Loading what={`the ${one}s`} />
    return <Failed error={list.error} what={`the ${one}s`} again={() => void list.refetch()} />
  }
  const isNarrowed = Object.keys(filters).length > 0
  const live = list.data.pages.length === 1
  return (
    <>
      <div className="flex min-h-9 flex-wrap items-center gap-2 compact:min-h-6">
        <p role="status" className="mr-auto text-sm text-muted">
          {list.isPlaceholderData ? 'Looking …' : `${count(rows.length, one)}${list.hasNextPage ? ', and more' : ''}`}
        </p>
        {live ? (
          <span className="flex items-center gap-1.5 text-xs text-muted">
            <span aria-hidden="true" className={`size-2 rounded-full ${up ? 'bg-good' : 'bg-edge'}`} />
            {up ? 'Live' : 'Not connected'}
          </span>
        ) : (
          <Button onClick={() => window.scrollTo({ top: 0 })}>Back to the newest</Button>
        )}
        {isNarrowed && <Button onClick={onClear}>Clear filters</Button>}
      </div>
      {list.isRefetchError && <Failed error={list.error} what={`newer ${one}s`} />}
      {rows.length > 0 && (
        <div aria-hidden="true" className="-mb-2 text-xs text-muted compact:mb-0 max-md:hidden">
          {head}
        </div>
      )}
      {rows.length > 0 && (
        <WindowList
          label={`${one.charAt(0).toUpperCase()}${one.slice(1)}s`}
          items={rows}
          keyOf={keyOf}
          rowPx={35}
          row={row}
          className="panel overflow-hidden"
          rowClassName="border-b border-line last:border-b-0"
        />
      )}
      {rows.length === 0 &&
        (isNarrowed ? (
          <Empty title={`No matching ${one}s`} action={{ label: 'Clear the filters', href: location.pathname }}>
            {suggestion || 'Remove a filter. Names and ids must match exactly.'}
          </Empty>
        ) : (
          empty
        ))}
      {list.isFetchNextPageError && <Failed error={list.error} what={`older ${one}s`} />}
      {list.hasNextPage && (
        <More loading={list.isFetchingNextPage} onReach={() => !list.isFetching && void list.fetchNextPage()} />
      )}
    </>
  )
}

/** Loads more when it is scrolled into view, and on request. */
function More({ loading, onReach }: { readonly loading: boolean; readonly onReach: () => void }) {
  const end = useRef<HTMLDivElement>(null)
  const scrolled = useRef(false)
  const reached = useEffectEvent(onReach)
  useEffect(() => {
    const onScroll = () => {
      scrolled.current = true
    }
    window.addEventListener('scroll', onScroll, { passive: true })
    const observer = new IntersectionObserver(
      ([entry]) => {
        // A list that fits the window stays live.
        if (entry?.isIntersecting && scrolled.current) reached()
      },
      { rootMargin: '600px' },
    )
    if (end.current !== null) observer.observe(end.current)
    return () => {
      window.removeEventListener('scroll', onScroll)
      observer.disconnect()
    }
  }, [])
  return (
    <div ref={end} className="justify-self-center">
      <Button onClick={onReach} disabled={loading}>
        {loading ? 'Loading …' : 'Load more'}
      </Button>
    </div>
  )
}

/** Says whether parameters and results are stored. */
export const PAYLOADS: Readonly<Record<'off' | 'errors' | 'all', string>> = {
  off: 'Parameters and results of calls are not stored (storage.payloads is off).',
  errors: 'Parameters and results of failed calls are stored for 7 days (storage.payloads is errors).',
  all: 'Parameters and results of calls are stored for 7 days, without secrets (storage.payloads is all).',
}
