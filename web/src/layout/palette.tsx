import { Dialog } from '@base-ui/react/dialog'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useDeferredValue, useEffect, useId, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import type { ListedRun } from '../../../src/core/storage/run-store.ts'
import { viewsQuery } from '../activity/views/saved-views.ts'
import { modelsQuery, toolsQuery, useMay } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { count } from '../parts/figures.ts'
import { threadAddress } from '../testing/thread-list.tsx'
import { useThreads } from '../testing/thread-store.ts'
import { titleOf } from '../testing/threads.ts'
import {
  ADD_ENTRIES,
  modelEntry,
  PAGE_ENTRIES,
  type PaletteEntry,
  PaletteIndex,
  runEntry,
  toolEntry,
  viewEntry,
} from './palette-entries.ts'

const latestRunsQuery = queryOptions({
  queryKey: ['runs', 'latest'],
  queryFn: ({ signal }) => requestJson<{ runs: ListedRun[] }>('/api/runs?limit=50', { signal }),
  select: ({ runs }) => runs,
})

interface PaletteProps {
  readonly open: boolean
  readonly onClose: () => void
  /** What the user typed before the field had the focus. */
  readonly takeTyped: () => string
}

/** Opens pages, tools, models, threads and runs by name. */
export const Palette = ({ open, onClose, takeTyped }: PaletteProps) => (
  <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
    <Dialog.Portal>
      <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/40" />
      <Dialog.Popup className="panel fixed top-[12vh] left-1/2 z-50 flex max-h-[70vh] w-[min(40rem,calc(100vw-2rem))] -translate-x-1/2 flex-col overflow-hidden shadow-2xl">
        <Dialog.Title className="sr-only">Go to</Dialog.Title>
        <Entries onClose={onClose} takeTyped={takeTyped} />
      </Dialog.Popup>
    </Dialog.Portal>
  </Dialog.Root>
)

function Entries({ onClose, takeTyped }: Omit<PaletteProps, 'open'>) {
  const [, navigate] = useLocation()
  const { data: tools = [] } = useQuery(toolsQuery)
  const { data: models = [] } = useQuery({ ...modelsQuery, enabled: useMay('chat') })
  const { data: runs = [] } = useQuery({ ...latestRunsQuery, enabled: useMay('observe') })
  const { data: views = [] } = useQuery({ ...viewsQuery, enabled: useMay('observe') })
  const threads = useThreads()
  const [query, setQuery] = useState('')
  const [chosen, setChosen] = useState(0)
  const list = useRef<HTMLDivElement>(null)
  const ids = useId()
  const entries = useMemo(
    () => [
      ...PAGE_ENTRIES,
      ...ADD_ENTRIES,
      ...views.map(viewEntry),
      ...tools.map(toolEntry),
      ...models.filter(({ reason }) => reason === undefined).map(modelEntry),
      ...threads.map(
        (thread): PaletteEntry => ({
          kind: 'thread',
          title: titleOf(thread),
          href: threadAddress(thread.id),
        }),
      ),
      ...runs.map(runEntry),
    ],
    [tools, models, runs, threads, views],
  )
  const index = useMemo(() => new PaletteIndex(entries), [entries])
  /** Of the entry, not of its place: screen readers notice that another one is active. */
  const idOf = (entry: PaletteEntry) => `${ids}${entries.indexOf(entry)}`
  const asked = useDeferredValue(query)
  const found = useMemo(() => index.find(asked), [index, asked])
  const current = Math.min(chosen, found.length - 1)
  const active = found[current]
  useEffect(() => {
    list.current?.children[current]?.scrollIntoView({ block: 'nearest' })
  }, [current])
  const go = ({ href }: PaletteEntry) => {
    onClose()
    navigate(href)
  }
  const move = (by: number) => setChosen((current + by + found.length) % Math.max(1, found.length))
  return (
    <>
      <input
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls={`${ids}list`}
        aria-activedescendant={active && idOf(active)}
        aria-autocomplete="list"
        placeholder="Go to a page, tool, model, view, thread or run"
        autoComplete="off"
        spellCheck={false}
        maxLength={100}
        className="w-full border-b border-line bg-transparent px-4 py-3 text-base outline-none"
        value={query}
        onFocus={() => setQuery((before) => before + takeTyped())}
        onChange={(event) => {
          setQuery(event.target.value)
          setChosen(0)
        }}
        onKeyDown={(event) => {
          // The shown entries may be those of an earlier query.
          const entry = asked === query ? found[current] : index.find(query)[0]
          if (event.key === 'ArrowDown') move(1)
          else if (event.key === 'ArrowUp') move(-1)
          else if (event.key === 'Enter' && entry !== undefined) go(entry)
          else return
          event.preventDefault()
        }}
      />
      {/* In the dialog: the rest of the page is hidden while it is open. */}
      <p role="status" className={found.length === 0 ? 'px-4 py-6 text-center text-muted' : 'sr-only'}>
        {found.length === 0 ? `Nothing matches “${asked}”.` : asked.trim() === '' ? '' : count(found.length, 'result')}
      </p>
      <div
        id={`${ids}list`}
        ref={list}
        role="listbox"
        aria-label="Results"
        tabIndex={-1}
        className={found.length === 0 ? 'hidden' : 'min-h-0 overflow-y-auto p-1.5'}
      >
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above takes the keys.
          <div
            key={`${entry.kind} ${entry.title} ${entry.href}`}
            id={idOf(entry)}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            className="flex items-baseline gap-3 rounded-md px-3 py-1.5 aria-selected:bg-accent-ground"
            onClick={() => go(entry)}
            onPointerMove={() => index !== current && setChosen(index)}
          >
            <span className={`max-w-[60%] shrink-0 truncate ${entry.kind === 'tool' ? 'font-mono text-sm' : ''}`}>
              {entry.title}
            </span>
            <span className="min-w-0 flex-1 truncate text-sm text-muted">{entry.detail}</span>
            <span className="text-xs text-muted">{entry.kind}</span>
          </div>
        ))}
      </div>
    </>
  )
}
