import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { ListedRun } from '../../../../src/core/storage/run-store.ts'
import { modelsQuery, sessionQuery, toolsQuery, useMay } from '../../api/queries.ts'
import { Choice } from '../../parts/choice.tsx'
import { count, inMoment, inMoney, inTime } from '../../parts/figures.ts'
import { FilterText } from '../../parts/filter-text.tsx'
import { Chip, Empty } from '../../parts/states.tsx'
import { ratingText } from '../../runs/ratings.ts'
import { StopChip } from '../../testing/stop-chip.tsx'
import { useAddress } from '../address.ts'
import { SPANS } from '../audit/audit-view.ts'
import { filtersOf } from '../list-view.ts'
import { PagedList } from '../paged-list.tsx'
import { OpenRuns } from './open-runs.tsx'
import { RUN_COLUMNS } from './run-columns.ts'

const NAMES = ['stop_reason', 'rating', 'model', 'tool', 'caller', 'tenant']

const REASONS = [
  ...['stop', 'error', 'cancelled', 'timeout', 'max_iterations', 'repeated_calls', 'budget', 'length'],
  'content_filter',
]
const REASON_OPTIONS = [
  { value: '', label: 'Any status' },
  ...REASONS.map((value) => ({ value, label: value === 'stop' ? 'finished' : value.replaceAll('_', ' ') })),
]
const RATING_OPTIONS = [
  { value: '', label: 'Any rating' },
  { value: 'good', label: 'Rated good' },
  { value: 'bad', label: 'Rated bad' },
]
export const TIME_OPTIONS = [
  { value: '', label: 'Any time' },
  ...Object.entries(SPANS).map(([value, { label }]) => ({ value, label })),
]

/** The stored runs. */
export function RunList() {
  const mayObserve = useMay('observe')
  const seesAll = useMay('installation')
  const mayRead = useMay('read')
  const [params, change] = useAddress()
  const { data: tools = [] } = useQuery({ ...toolsQuery, enabled: mayRead })
  const { data: models = [] } = useQuery({ ...modelsQuery, enabled: mayRead })
  const { data: session } = useQuery(sessionQuery)
  if (!mayObserve) return <Empty title="Your key can’t view runs">It lacks the scope observe.</Empty>
  const filters = filtersOf(params, NAMES)
  const clear = () => change(Object.fromEntries([...NAMES, 'last'].map((name) => [name, ''])))
  const text = (name: string, label: string, more: { placeholder?: string; suggestions?: readonly string[] } = {}) => (
    <FilterText label={label} value={filters[name] ?? ''} onChange={(value) => change({ [name]: value })} {...more} />
  )
  return (
    <div className="grid grid-cols-1 gap-3 compact:gap-1">
      <h2 className="sr-only">Runs</h2>
      <search aria-label="Narrow down" className="grid grid-cols-2 gap-2 md:grid-cols-3 lg:grid-cols-4 xl:grid-cols-7">
        <Choice
          label="Status"
          value={filters.stop_reason ?? ''}
          options={REASON_OPTIONS}
          onChange={(stop_reason) => change({ stop_reason })}
        />
        <Choice
          label="Rating"
          value={filters.rating ?? ''}
          options={RATING_OPTIONS}
          onChange={(rating) => change({ rating })}
        />
        {text('model', 'Model', { placeholder: 'provider:model', suggestions: models.map(({ id }) => id) })}
        {text('tool', 'Tool', { suggestions: tools.map(({ name }) => name) })}
        {text('caller', 'Key', { placeholder: 'Key or user id' })}
        <Choice label="Time" value={filters.last ?? ''} options={TIME_OPTIONS} onChange={(last) => change({ last })} />
        {seesAll && text('tenant', 'Tenant', { placeholder: `Tenant (${session?.tenant ?? 'yours'})` })}
      </search>
      <OpenRuns filters={filters} />
      <PagedList<ListedRun>
        path="/api/runs"
        part="runs"
        filters={filters}
        one="run"
        keyOf={({ id }) => id}
        row={(run) => <RunRow run={run} />}
        empty={
          <Empty title="No runs yet" action={{ label: 'Ask a model', href: '/tools-testing' }}>
            Ask a model on Testing, or send a question to /chat. Each run appears here.
          </Empty>
        }
        onClear={clear}
        head={
          <div className={RUN_COLUMNS}>
            <span>Question</span>
            <span>Status</span>
            <span>Model</span>
            <span className="text-right">Calls</span>
            <span className="text-right">Duration</span>
            <span className="text-right">Cost</span>
            <span className="text-right">Started</span>
          </div>
        }
      />
    </div>
  )
}

const RunRow = ({ run }: { readonly run: ListedRun }) => (
  <Link href={`/runs/${run.id}`} className={`${RUN_COLUMNS} py-1.5 text-sm hover:bg-sunk compact:py-0 compact:text-xs`}>
    <span className="truncate font-medium">
      {run.question || '(question not stored)'}
      {run.agent !== undefined && <span className="ml-2 font-normal text-muted">agent {run.agent}</span>}
    </span>
    <span className="flex gap-1 justify-self-end md:justify-self-start">
      <StopChip reason={run.stop_reason} />
      {run.mocked && <Chip tone="warn">mock results</Chip>}
      {run.ratings && <Chip tone={run.ratings.bad > 0 ? 'bad' : 'good'}>{ratingText(run.ratings)}</Chip>}
    </span>
    <span className="truncate text-muted max-md:hidden">{run.model}</span>
    <span className="text-right text-muted tabular-nums max-md:hidden">{count(run.tool_calls, 'call')}</span>
    <span className="text-right tabular-nums max-md:hidden">{inTime(run.duration_ms)}</span>
    <span className="text-right text-muted tabular-nums max-md:hidden">
      {run.cost === null ? '–' : inMoney(run.cost)}
    </span>
    <time dateTime={run.started_at} className="text-right whitespace-nowrap text-muted tabular-nums max-md:hidden">
      {inMoment(run.started_at)}
    </time>
    <span className="col-span-2 truncate text-xs text-muted tabular-nums md:hidden">
      {run.model}, {count(run.tool_calls, 'call')}, {inTime(run.duration_ms)}, {inMoment(run.started_at)}
    </span>
  </Link>
)
