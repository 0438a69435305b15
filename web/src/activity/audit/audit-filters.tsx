import { useQuery } from '@tanstack/react-query'
import { toolsQuery, useMay } from '../../api/queries.ts'
import { Choice } from '../../parts/choice.tsx'
import { FilterText } from '../../parts/filter-text.tsx'
import { type AuditView, ERROR_CODES, fromField, OUTCOMES, SPANS, TYPES, toField } from './audit-view.ts'

const CHOSEN = 'chosen'

const TYPE_OPTIONS = Object.entries(TYPES).map(([value, { label }]) => ({ value, label }))
const OUTCOME_OPTIONS = [
  { value: '', label: 'Any outcome' },
  ...Object.keys(OUTCOMES).map((value) => ({ value, label: value })),
]
const CODE_OPTIONS = [
  { value: '', label: 'Any error' },
  ...ERROR_CODES.map((value) => ({ value, label: value.toLowerCase().replaceAll('_', ' ') })),
]
const TIME_OPTIONS = [
  { value: '', label: 'Any time' },
  ...Object.entries(SPANS).map(([value, { label }]) => ({ value, label })),
  { value: CHOSEN, label: 'From … to …' },
]

interface AuditFiltersProps {
  readonly view: AuditView
  readonly change: (changes: Readonly<Record<string, string>>) => void
}

/** The filters of the audit log. */
export function AuditFilters({ view, change }: AuditFiltersProps) {
  const { filters, last } = view
  const wholeInstallation = useMay('installation')
  const { data: tools = [] } = useQuery({ ...toolsQuery, enabled: useMay('read') })
  const text = (name: string, label: string, more: { placeholder?: string; suggestions?: readonly string[] } = {}) => (
    <FilterText label={label} value={filters[name] ?? ''} onChange={(value) => change({ [name]: value })} {...more} />
  )
  const byTime = filters.from !== undefined || filters.to !== undefined
  return (
    <search
      aria-label="Narrow down"
      className="grid grid-cols-2 gap-2 md:grid-cols-3 lg:grid-cols-4 compact:lg:grid-cols-8"
    >
      <Choice
        label="Show"
        value={filters.type ?? 'call'}
        options={TYPE_OPTIONS}
        onChange={(type) => change({ type: type === 'call' ? '' : type })}
      />
      {text('tool', 'Tool', { suggestions: tools.map(({ name }) => name) })}
      {text('caller', 'Caller', { placeholder: 'Caller id' })}
      {text('run_id', 'Run', { placeholder: 'Run id' })}
      <Choice
        label="Outcome"
        value={filters.outcome ?? ''}
        options={OUTCOME_OPTIONS}
        onChange={(outcome) => change({ outcome })}
      />
      <Choice
        label="Error"
        value={filters.error_code ?? ''}
        options={CODE_OPTIONS}
        onChange={(error_code) => change({ error_code })}
      />
      <Choice
        label="Time"
        value={byTime ? CHOSEN : last}
        options={TIME_OPTIONS}
        onChange={(value) => change(timeOf(value))}
      />
      {byTime && <TimeField name="from" label="From" iso={filters.from} change={change} />}
      {byTime && <TimeField name="to" label="To" iso={filters.to} change={change} />}
      {wholeInstallation && text('tenant', 'Tenant', { placeholder: 'Tenant, or *' })}
    </search>
  )
}

/** A custom range starts with the last day. */
const timeOf = (value: string): Record<string, string> =>
  value === CHOSEN
    ? { last: '', from: new Date(Date.now() - 86_400_000).toISOString(), to: '' }
    : { last: value, from: '', to: '' }

interface TimeFieldProps {
  readonly name: 'from' | 'to'
  readonly label: string
  readonly iso: string | undefined
  readonly change: AuditFiltersProps['change']
}

const TimeField = ({ name, label, iso, change }: TimeFieldProps) => (
  <label className="col-span-2 flex items-center gap-2 text-sm text-muted md:col-span-1 lg:col-span-2">
    <span className="w-10 shrink-0">{label}</span>
    <input
      type="datetime-local"
      className="field min-w-0 max-md:text-sm"
      value={toField(iso)}
      onChange={(event) => change({ [name]: fromField(event.target.value) })}
    />
  </label>
)
