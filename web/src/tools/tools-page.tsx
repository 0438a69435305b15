import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useMemo } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { figuresQuery, toolsQuery, useMay } from '../api/queries.ts'
import { AddLink } from '../parts/add-link.tsx'
import { Button } from '../parts/button.tsx'
import { Choice } from '../parts/choice.tsx'
import { count } from '../parts/figures.ts'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useSettled } from '../parts/use-settled.ts'
import { EFFECTS, foundQuery, kindsOf, SORTS, type ToolSearch, wantedTools } from './search-tools.ts'
import { ToolList } from './tool-list.tsx'

/** All tools, with search, filters and sorting. */
export function ToolsPage() {
  usePageTitle('Tools')
  const { data: tools, error, refetch } = useQuery(toolsQuery)
  const mayObserve = useMay('observe')
  const { data: figures } = useQuery({ ...figuresQuery, enabled: mayObserve })
  const [params, setParams] = useSearchParams()
  const [, go] = useLocation()
  const search: ToolSearch = {
    text: params.get('q') ?? '',
    kind: params.get('kind') ?? '',
    effect: params.get('effect') ?? '',
    sort: params.get('sort') ?? 'name',
  }
  const asked = useDeferredValue(JSON.stringify(search))
  const { data: found } = useQuery(foundQuery(useSettled(search.text)))
  const names = search.text.trim() === '' ? undefined : found
  const wanted = useMemo(
    () => wantedTools(tools ?? [], figures?.tools ?? {}, JSON.parse(asked) as ToolSearch, names),
    [tools, figures, asked, names],
  )
  const set = (name: string, value: string) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  const sorts = mayObserve ? SORTS : SORTS.slice(0, 1)
  return (
    <>
      <div className="flex flex-wrap items-baseline gap-x-3">
        <h1 className="text-2xl font-semibold tracking-tight compact:text-lg">Tools</h1>
        <p role="status" className="text-muted">
          {tools !== undefined &&
            (wanted.length === tools.length
              ? count(tools.length, 'tool')
              : `${wanted.length} of ${count(tools.length, 'tool')}`)}
        </p>
        <span className="ml-auto self-center">
          <AddLink href="/setup">Add tools</AddLink>
        </span>
      </div>
      <p className="text-muted compact:hidden">
        Programs and models call these tools. Open one to try it, or let a model use them under Testing.
      </p>
      <div className="sticky top-0 z-10 lg:top-12 -mx-4 mt-2 compact:mt-0 grid grid-cols-3 gap-2 bg-ground px-4 py-2 compact:py-1 md:grid-cols-[1fr_10rem_10rem_12rem]">
        <input
          type="search"
          aria-label="Search tools"
          placeholder="Search by what tools do, name, origin …"
          className="field max-md:col-span-3"
          value={search.text}
          onChange={(event) => set('q', event.target.value)}
          onKeyDown={({ key, nativeEvent }) => {
            const [first] = wanted
            if (key !== 'Enter' || nativeEvent.isComposing || search.text.trim() === '' || first === undefined) return
            go(`/tool/${encodeURIComponent(first.name)}`)
          }}
        />
        <Choice
          label="Kind"
          value={search.kind}
          onChange={(value) => set('kind', value)}
          options={kindsOf(tools ?? [])}
        />
        <Choice label="Effect" value={search.effect} onChange={(value) => set('effect', value)} options={EFFECTS} />
        <Choice
          label="Sort by"
          value={search.sort}
          onChange={(value) => set('sort', value === 'name' ? '' : value)}
          options={sorts}
        />
      </div>
      <div className="mt-2">
        {tools === undefined && !error && <Loading what="the tools" />}
        {tools === undefined && error && <Failed error={error} what="the tools" again={() => void refetch()} />}
        {tools?.length === 0 && (
          <Empty title="No tools yet" action={{ label: 'Add tools', href: '/setup' }}>
            Add an MCP server, an HTTP tool or an OpenAPI document.
          </Empty>
        )}
        {tools !== undefined && tools.length > 0 && wanted.length === 0 && (
          <Empty title="No tools match">
            <p>Nothing has these words and filters.</p>
            <Button className="mt-3" onClick={() => setParams(new URLSearchParams(), { replace: true })}>
              Clear the search and the filters
            </Button>
          </Empty>
        )}
        {wanted.length > 0 && <ToolList tools={wanted} figures={figures?.tools} />}
      </div>
    </>
  )
}
