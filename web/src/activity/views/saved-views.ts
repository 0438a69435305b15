import { queryOptions } from '@tanstack/react-query'
import type { SavedView } from '../../../../src/operations/views.ts'
import { request, requestJson } from '../../api/request.ts'
import { ownValue } from '../../parts/own-value.ts'

export type { SavedView }

export const viewsQuery = queryOptions({
  queryKey: ['views'],
  queryFn: ({ signal }) => requestJson<{ views: SavedView[] }>('/api/views', { signal }),
  select: ({ views }) => views,
})

export type ViewDraft = Pick<SavedView, 'name' | 'address' | 'shared' | 'pinned'>

export const saveView = (id: string, { name, address, shared, pinned }: ViewDraft): Promise<SavedView> =>
  requestJson(`/api/views/${id}`, { method: 'PUT', body: { name, address, shared, pinned } })

export const deleteView = ({ id, owner, own }: SavedView): Promise<unknown> =>
  request(`/api/views/${id}${own ? '' : `?${new URLSearchParams({ owner })}`}`, { method: 'DELETE' })

const PARTS: Readonly<Record<string, string>> = {
  '/activity': 'Audit log',
  '/activity/runs': 'Runs',
  '/activity/calls': 'Calls',
  '/activity/chats': 'Chats',
  '/activity/metrics': 'Metrics',
  '/activity/costs': 'Costs',
}

const partsOf = (address: string): readonly [path: string, params: URLSearchParams] => {
  const [path = '', query = ''] = address.split('?')
  return [path, new URLSearchParams(query)]
}

/** Whether the address is of a part whose filters can be saved. */
export const isSavable = (address: string): boolean => Object.hasOwn(PARTS, partsOf(address)[0])

/** The part and its filters, in words. */
export function viewText(address: string): string {
  const [path, params] = partsOf(address)
  const filters = [...params].map(([name, value]) => `${name.replaceAll('_', ' ')} ${value}`)
  return [ownValue(PARTS, path) ?? path, ...filters].join(', ')
}

/** Equal filters in another order are the same view. */
export function isSameAddress(one: string, other: string): boolean {
  const [[path, params], [otherPath, otherParams]] = [partsOf(one), partsOf(other)]
  params.sort()
  otherParams.sort()
  return path === otherPath && params.toString() === otherParams.toString()
}

/** What the tile of a pinned view counts: the rows of a list, or the figures of metrics and costs. */
export type Tile =
  | { readonly kind: 'rows'; readonly path: string; readonly part: 'runs' | 'rows' | 'chats'; readonly one: string }
  | { readonly kind: 'metrics' | 'costs'; readonly params: URLSearchParams }

const LISTS = {
  '/activity/runs': { path: '/api/runs', part: 'runs', one: 'run', fixed: {}, most: '200' },
  '/activity/calls': { path: '/audit', part: 'rows', one: 'call', fixed: { type: 'call' }, most: '1000' },
  '/activity/chats': { path: '/api/chats', part: 'chats', one: 'chat', fixed: {}, most: '200' },
  '/activity': { path: '/audit', part: 'rows', one: 'row', fixed: { type: 'call' }, most: '1000' },
} as const

const SPANS_MS: Readonly<Record<string, number>> = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 }

/** Undefined if the address has no figures. `now` is in milliseconds since 1970. */
export function tileOf(address: string, now: number): Tile | undefined {
  const [path, params] = partsOf(address)
  if (path === '/activity/metrics') return { kind: 'metrics', params }
  if (path === '/activity/costs') return { kind: 'costs', params }
  const list = Object.entries(LISTS).find(([name]) => name === path)?.[1]
  if (list === undefined) return undefined
  const query = new URLSearchParams({ ...list.fixed, ...Object.fromEntries(params), limit: list.most })
  if (query.get('type') === 'all') query.delete('type')
  const span = SPANS_MS[query.get('last') ?? '']
  query.delete('last')
  // By the minute, so that the address of a request stays the same for a while.
  if (span !== undefined) query.set('from', new Date(Math.floor((now - span) / 60_000) * 60_000).toISOString())
  return { kind: 'rows', path: `${list.path}?${query}`, part: list.part, one: list.one }
}
