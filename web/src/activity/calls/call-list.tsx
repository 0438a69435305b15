import { useQuery } from '@tanstack/react-query'
import { useMemo, useRef } from 'react'
import { Link } from 'wouter'
import type { ListedCall } from '../../../../src/server/http/views.ts'
import { sessionQuery, toolsQuery, useMay } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/choice.tsx'
import { inMoment, inTime } from '../../parts/figures.ts'
import { FilterText } from '../../parts/filter-text.tsx'
import { FuzzyIndex } from '../../parts/fuzzy.ts'
import { OutcomeChip } from '../../parts/outcome-chip.tsx'
import { Empty } from '../../parts/states.tsx'
import { useAddress } from '../address.ts'
import { OUTCOMES } from '../audit/audit-view.ts'
import { filtersOf } from '../list-view.ts'
import { PAYLOADS, PagedList } from '../paged-list.tsx'
import { TIME_OPTIONS } from '../runs/run-list.tsx'

const NAMES = ['outcome', 'tool', 'caller', 'run_id', 'tenant']
const OUTCOME_OPTIONS = [
  { value: '', label: 'Any outcome' },
  ...Object.keys(OUTCOMES).map((value) => ({ value, label: value })),
]

const MOST_SUGGESTED = 3

/** The calls of all tools. */
export function CallList() {
  const mayObserve = useMay('observe')
  const seesAll = useMay('installation')
  const [params, change] = useAddress()
  const { data: tools = [] } = useQuery({ ...toolsQuery, enabled: useMay('read') })
  const { data: session } = useQuery(sessionQuery)
  const narrow = useRef<HTMLElement>(null)
  const index = useMemo(() => new FuzzyIndex(tools, ({ name }) => name), [tools])
  if (!mayObserve) return <Empty title="Your key can’t view calls">It lacks the scope observe.</Empty>
  const filters = filtersOf(params, NAMES)
  const clear = () => change(Object.fromEntries([...NAMES, 'last'].map((name) => [name, ''])))
  const text = (name: string, label: string, more: { placeholder?: string; suggestions?: readonly string[] } = {}) => (
    <FilterText label={label} value={filters[name] ?? ''} onChange={(value) => change({ [name]: value })} {...more} />
  )
  const { tool: typed = '' } = filters
  const isTool = typed === '' || tools.some(({ name }) => name === typed)
  const similar = isTool ? [] : index.find(typed).slice(0, MOST_SUGGESTED)
  const choose = (tool: string) => {
    change({ tool })
    narrow.current?.querySelector<HTMLInputElement>('input[type="search"]')?.focus()
  }
  const tenant = filters.tenant === undefined ? '' : `?tenant=${encodeURIComponent(filters.tenant)}`
  return (
    <div className="grid grid-cols-1 gap-3 compact:gap-1">
      <h2 className="sr-only">Calls</h2>
      <search ref={narrow} aria-label="Narrow down" className="grid grid-cols-2 gap-2 md:grid-cols-3 lg:grid-cols-6">
        <Choice
          label="Outcome"
          value={filters.outcome ?? ''}
          options={OUTCOME_OPTIONS}
          onChange={(outcome) => change({ outcome })}
        />
        {text('tool', 'Tool', { suggestions: tools.map(({ name }) => name) })}
        {text('caller', 'Key', { placeholder: 'Key or user id' })}
        {text('run_id', 'Run', { placeholder: 'Run id' })}
        <Choice label="Time" value={filters.last ?? ''} options={TIME_OPTIONS} onChange={(last) => change({ last })} />
        {seesAll && text('tenant', 'Tenant', { placeholder: 'Tenant, or *' })}
      </search>
      {session?.payloads !== undefined && (
        <p className="text-sm text-muted compact:text-xs">{PAYLOADS[session.payloads]}</p>
      )}
      <PagedList<ListedCall>
        path="/audit"
        part="rows"
        filters={filters}
        fixed={{ type: 'call', preview: 'parameters' }}
        one="call"
        keyOf={({ id }) => id}
        row={(row) => <CallRow row={row} tenant={tenant} />}
        empty={
          <Empty title="No calls yet" action={{ label: 'Open the tools', href: '/' }}>
            Run a tool or test a model. Every call appears here.
          </Empty>
        }
        onClear={clear}
        suggestion={
          similar.length > 0 && (
            <span className="flex flex-wrap items-center justify-center gap-2">
              Did you mean
              {similar.map(({ name }) => (
                <Button key={name} className="font-mono" onClick={() => choose(name)}>
                  {name}
                </Button>
              ))}
              ?
            </span>
          )
        }
        head={
          <div className={`${ROW} max-lg:hidden`}>
            <span>Tool</span>
            <span>Outcome</span>
            <span className="text-right">Duration</span>
            <span>Through</span>
            <span>Model or key</span>
            <span className="text-right">Began</span>
          </div>
        }
      />
    </div>
  )
}

const ROW =
  'grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-0.5 px-3 lg:grid-cols-[minmax(0,2fr)_12rem_5rem_6rem_minmax(8rem,1fr)_8.5rem]'

const CallRow = ({ row, tenant }: { readonly row: ListedCall; readonly tenant: string }) => (
  <Link
    href={`/activity/calls/${encodeURIComponent(row.id)}${tenant}`}
    className={`${ROW} py-1.5 text-sm hover:bg-sunk compact:py-0 compact:text-xs`}
  >
    <span className="flex min-w-0 flex-col compact:flex-row compact:gap-x-3 max-lg:contents">
      <span className="truncate font-mono font-medium compact:max-w-full compact:shrink-0">{row.tool}</span>
      {row.parameters_preview !== undefined && (
        <span
          title={row.parameters_preview}
          className="truncate font-mono text-xs text-muted max-lg:order-1 max-lg:col-span-2"
        >
          {row.parameters_preview}
        </span>
      )}
    </span>
    <span className="justify-self-end lg:justify-self-start">
      <OutcomeChip {...row} />
    </span>
    <span className="text-right tabular-nums max-lg:hidden">{inTime(row.duration_ms)}</span>
    <span className="truncate text-muted max-lg:hidden">{row.source ?? '–'}</span>
    <span className="truncate text-muted max-lg:hidden">{row.model ?? row.caller_name ?? '–'}</span>
    <time dateTime={row.time} className="text-right whitespace-nowrap text-muted tabular-nums max-lg:hidden">
      {inMoment(row.time)}
    </time>
    <span className="order-2 col-span-2 truncate text-xs text-muted tabular-nums lg:hidden">
      {inTime(row.duration_ms)}, {row.source ?? 'internal'}, {inMoment(row.time)}
    </span>
  </Link>
)
