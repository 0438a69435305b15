import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, Suspense, useState } from 'react'
import { Link } from 'wouter'
import type { CostReport } from '../../../../src/app/cost-report.ts'
import { serverIsUp } from '../../api/connection.ts'
import { useMay } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { Button } from '../../parts/button.tsx'
import { count, inNumber } from '../../parts/figures.ts'
import { lazyPart } from '../../parts/lazy-part.ts'
import { Chip, Empty, Failed, Loading } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import {
  deleteView,
  type SavedView,
  saveView,
  type Tile,
  tileOf,
  type ViewDraft,
  viewsQuery,
  viewText,
} from './saved-views.ts'

const MetricsTile = lazyPart(async () => (await import('./metrics-tile.tsx')).MetricsTile)
const LIVE_MS = 15_000

/** All saved views. The pinned ones show their figures. */
export function ViewsPage() {
  const mayObserve = useMay('observe')
  const { data: views, error, refetch } = useQuery({ ...viewsQuery, enabled: mayObserve })
  if (!mayObserve) return <Empty title="Your key can’t use views">It lacks the scope observe.</Empty>
  if (views === undefined) {
    return error ? <Failed error={error} what="the views" again={() => void refetch()} /> : <Loading what="the views" />
  }
  if (views.length === 0) {
    return (
      <Empty title="No saved views yet" action={{ label: 'Open the calls', href: '/activity/calls' }}>
        Filter a list or a chart, then choose Save this view.
      </Empty>
    )
  }
  const pinned = views.filter((view) => view.pinned)
  return (
    <div className="grid grid-cols-1 gap-5">
      {pinned.length > 0 && (
        <section aria-labelledby="pinned" className="min-w-0">
          <h2 id="pinned" className="text-lg font-semibold">
            Pinned
          </h2>
          <ul className="mt-2 grid items-start gap-3 sm:grid-cols-2 xl:grid-cols-3">
            {pinned.map((view) => (
              <li key={`${view.owner} ${view.id}`} className="panel min-w-0 p-3">
                <Link
                  href={view.address}
                  className="font-medium wrap-anywhere text-accent underline underline-offset-2"
                >
                  {view.name}
                </Link>
                <p className="text-xs wrap-anywhere text-muted">{viewText(view.address)}</p>
                <Figures address={view.address} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <section aria-labelledby="views" className="min-w-0">
        <h2 id="views" className="text-lg font-semibold">
          All views
        </h2>
        <ul className="panel mt-2 divide-y divide-line">
          {views.map((view) => (
            <li key={`${view.owner} ${view.id}`} className="px-3 py-2">
              <Entry view={view} />
            </li>
          ))}
        </ul>
      </section>
    </div>
  )
}

function Entry({ view }: { readonly view: SavedView }) {
  const client = useQueryClient()
  const mayManage = useMay('manage')
  const [name, setName] = useState<string>()
  const refresh = () => client.invalidateQueries({ queryKey: viewsQuery.queryKey })
  const change = useMutation({
    mutationFn: (more: Partial<ViewDraft>) => saveView(view.id, { ...view, ...more }),
    onSettled: refresh,
  })
  const remove = useMutation({
    mutationFn: () => deleteView(view),
    onSuccess: () =>
      toast({
        text: `Deleted “${view.name}”`,
        // Another user’s view comes back as one’s own.
        undo: () => void saveView(view.id, view).then(refresh),
      }),
    onSettled: refresh,
  })
  const rename = () => {
    if (name !== undefined && name.trim() !== '' && name.trim() !== view.name) change.mutate({ name: name.trim() })
    setName(undefined)
  }
  const error = change.error ?? remove.error
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-1 text-sm">
      {name === undefined ? (
        <Link
          href={view.address}
          className="min-w-0 font-medium wrap-anywhere text-accent underline underline-offset-2"
        >
          {view.name}
        </Link>
      ) : (
        <input
          aria-label="Name of the view"
          // biome-ignore lint/a11y/noAutofocus: the user has just asked for it.
          autoFocus
          className="field w-64 max-w-full"
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.target.value)}
          onBlur={rename}
          onKeyDown={({ key }) => {
            if (key === 'Enter') rename()
            if (key === 'Escape') setName(undefined)
          }}
        />
      )}
      {view.shared && <Chip>{view.own ? 'shared' : `shared by ${view.by}`}</Chip>}
      <span className="min-w-0 flex-1 basis-48 wrap-anywhere text-muted">{viewText(view.address)}</span>
      <span className="flex flex-wrap">
        {view.own && (
          <>
            <Button
              look="quiet"
              aria-label={`${view.pinned ? 'Unpin' : 'Pin'} ${view.name}`}
              onClick={() => change.mutate({ pinned: !view.pinned })}
            >
              {view.pinned ? 'Unpin' : 'Pin'}
            </Button>
            <Button
              look="quiet"
              aria-label={`${view.shared ? 'Unshare' : 'Share'} ${view.name}`}
              onClick={() => change.mutate({ shared: !view.shared })}
            >
              {view.shared ? 'Unshare' : 'Share'}
            </Button>
            <Button look="quiet" aria-label={`Rename ${view.name}`} onClick={() => setName(view.name)}>
              Rename
            </Button>
          </>
        )}
        {(view.own || mayManage) && (
          <Button look="quiet" aria-label={`Delete ${view.name}`} onClick={() => remove.mutate()}>
            Delete
          </Button>
        )}
      </span>
      {error && (
        <span role="alert" className="w-full text-bad">
          {error.message}
        </span>
      )}
    </div>
  )
}

const Large = ({ children }: { readonly children: ReactNode }) => (
  <p className="mt-1 text-2xl font-semibold tabular-nums">{children}</p>
)

function Figures({ address }: { readonly address: string }) {
  const [now] = useState(() => Date.now())
  const tile = tileOf(address, now)
  if (tile === undefined) return null
  if (tile.kind === 'rows') return <Rows tile={tile} />
  if (tile.kind === 'costs') return <Cost params={tile.params} />
  return (
    <Suspense fallback={<Loading what="the chart" />}>
      <MetricsTile params={tile.params} />
    </Suspense>
  )
}

function Rows({ tile: { path, part, one } }: { readonly tile: Tile & { readonly kind: 'rows' } }) {
  const { data, error } = useQuery({
    queryKey: ['views', path],
    queryFn: ({ signal }) => requestJson<{ readonly next?: string } & Record<string, unknown>>(path, { signal }),
    refetchInterval: () => serverIsUp() && LIVE_MS,
  })
  if (data === undefined) return <Large>{error ? error.message : '…'}</Large>
  const rows = (data[part] as readonly unknown[] | undefined)?.length ?? 0
  return <Large>{data.next === undefined ? count(rows, one) : `${inNumber(rows)} ${one}s and more`}</Large>
}

function Cost({ params }: { readonly params: URLSearchParams }) {
  const query = new URLSearchParams({ period: 'month', ...Object.fromEntries(params), by: 'tool', limit: '1' })
  const { data, error } = useQuery({
    queryKey: ['views', 'costs', query.toString()],
    queryFn: ({ signal }) => requestJson<CostReport>(`/api/costs?${query}`, { signal }),
    refetchInterval: () => serverIsUp() && LIVE_MS,
  })
  if (data === undefined) return <Large>{error ? error.message : '…'}</Large>
  const { cost } = data.total
  return <Large>{cost === null ? 'Cost unknown' : `${inNumber(cost)} ${data.currency}`}</Large>
}
