import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ObjectivesView } from '../../../../src/operations/objectives.ts'
import { useMay } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { count, inDate, inDay, inNumber, inTenths } from '../../parts/figures.ts'
import { BreakableName, Code, Section } from '../../parts/section.tsx'
import { Chip, Empty, Failed, Loading } from '../../parts/states.tsx'

type Objective = ObjectivesView['objectives'][number]
type Alert = NonNullable<ObjectivesView['alerts']>[number]

/** Servers evaluate every 30 s. */
const REFRESH_MS = 15_000

/** All tenants together, for those who may see them. */
const objectivesQuery = (all: boolean) =>
  queryOptions({
    queryKey: ['objectives', all],
    queryFn: ({ signal }) => requestJson<ObjectivesView>(`/api/objectives${all ? '?tenant=*' : ''}`, { signal }),
    refetchInterval: REFRESH_MS,
  })

/** Objectives with their error budget, alerts, and the compliance report. */
export function Objectives() {
  const all = useMay('installation')
  const { data, error, refetch } = useQuery(objectivesQuery(all))
  if (data === undefined) {
    if (error) return <Failed error={error} what="the objectives" again={() => void refetch()} />
    return <Loading what="the objectives" />
  }
  const { objectives, alerts = [] } = data
  return (
    <div className="grid grid-cols-1 gap-8">
      {objectives.length === 0 ? (
        <Empty title="No objectives" action={{ label: 'Read about objectives', href: '/guide/guides/objectives.html' }}>
          Add <Code>objectives</Code> to the configuration.
        </Empty>
      ) : (
        <Section title="Objectives" about={`Calls of ${all ? 'all tenants' : 'your tenant'}, counted in days of UTC.`}>
          <ul className="grid grid-cols-1 gap-3">
            {objectives.map((objective) => (
              <Entry key={objective.id} objective={objective} open={alerts.filter(isOpenFor(objective))} />
            ))}
          </ul>
        </Section>
      )}
      {alerts.length > 0 && <History {...{ alerts, objectives }} />}
      {all && <Report />}
    </div>
  )
}

const isOpenFor =
  ({ id }: Objective) =>
  ({ objective, resolved_at }: Alert) =>
    objective === id && resolved_at === null

function goalOf({ indicator, target, window }: Objective): string {
  const percent = Number((target * 100).toFixed(4))
  const goal = indicator === 'success' ? `${percent} % of calls succeed` : `95 % of calls end within ${target} ms`
  return `${goal}, in ${count(Number.parseInt(window, 10), 'day')}`
}

/** The id of an objective that is no longer configured is all that is known of it. */
function nameOf(id: string, objectives: readonly Objective[]): string {
  const known = objectives.find((objective) => objective.id === id)
  return known === undefined ? id : `${known.tool ?? 'all tools'}: ${goalOf(known)}`
}

function Entry({ objective, open }: { readonly objective: Objective; readonly open: readonly Alert[] }) {
  const { id, tool, indicator, calls, bad, error_budget_left: left, burn_rates, days } = objective
  return (
    <li className="panel grid min-w-0 grid-cols-1 gap-3 p-4" aria-label={id}>
      <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
        <span className="font-mono font-medium">{tool === null ? 'all tools' : <BreakableName name={tool} />}</span>
        <span className="text-sm text-muted">{goalOf(objective)}</span>
        {open.map(({ severity }) => (
          <Chip key={severity} tone="bad">
            {severity} burn
          </Chip>
        ))}
        {open.length === 0 && <Chip tone={left < 0 ? 'warn' : 'good'}>{left < 0 ? 'missed' : 'met'}</Chip>}
      </div>
      <dl className="flex flex-wrap gap-x-6 gap-y-2 text-sm tabular-nums">
        <Figure title="Error budget left" text={inTenths(left)} />
        <Figure title="Calls" text={inNumber(calls)} />
        <Figure title={indicator === 'success' ? 'Failed' : 'Slow'} text={inNumber(bad)} />
        {Object.entries(burn_rates).map(([name, rate]) => (
          <Figure key={name} title={`Burn rate ${name}`} text={rate === null ? '–' : rate.toFixed(1)} />
        ))}
      </dl>
      {days.length > 0 && (
        <details className="text-sm">
          <summary className="cursor-pointer">{count(days.length, 'day')} with calls</summary>
          <ul className="mt-2 grid grid-cols-1 gap-1 tabular-nums">
            {days.toReversed().map((day) => (
              <li key={day.start}>
                {inDay(day.start)}: {count(day.calls, 'call')}, {inNumber(day.bad)} bad
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  )
}

const Figure = ({ title, text }: { readonly title: string; readonly text: string }) => (
  <div>
    <dt className="text-xs text-muted">{title}</dt>
    <dd className="font-medium">{text}</dd>
  </div>
)

interface HistoryProps {
  readonly alerts: readonly Alert[]
  readonly objectives: readonly Objective[]
}

const History = ({ alerts, objectives }: HistoryProps) => (
  <Section title="Alerts" about="The newest first.">
    <ul className="panel grid grid-cols-1 divide-y divide-line text-sm">
      {alerts.map(({ objective, severity, opened_at, resolved_at }) => (
        <li
          key={`${objective} ${severity} ${opened_at}`}
          className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-4 py-2"
        >
          <Chip tone={resolved_at === null ? 'bad' : 'plain'}>{resolved_at === null ? 'open' : 'resolved'}</Chip>
          <span className="wrap-anywhere">{nameOf(objective, objectives)}</span>
          <span className="text-muted">
            {severity} burn, {inDate(opened_at)}
            {resolved_at !== null && ` to ${inDate(resolved_at)}`}
          </span>
        </li>
      ))}
    </ul>
  </Section>
)

const FORMATS = ['html', 'csv', 'json'] as const
const DAY_MS = 86_400_000
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Downloads the compliance report of some days. */
function Report() {
  const [from, setFrom] = useState(() => dayOf(Date.now() - 30 * DAY_MS))
  const [to, setTo] = useState(() => dayOf(Date.now() + DAY_MS))
  return (
    <Section
      title="Compliance report"
      about="Who used what, denied calls, approvals, changes, cost, objectives and the integrity of the audit log. It reads the whole audit log."
    >
      <div className="flex flex-wrap items-end gap-2">
        <Day label="From" value={from} onChange={setFrom} />
        <Day label="To, exclusive" value={to} onChange={setTo} />
        {from < to ? (
          FORMATS.map((format) => (
            <a
              key={format}
              href={`/api/report?${new URLSearchParams({ from, to, format })}`}
              download
              className="inline-flex min-h-9 items-center rounded-lg border border-edge bg-panel px-3 py-1 text-sm font-medium hover:bg-sunk"
            >
              Report {format.toUpperCase()}
            </a>
          ))
        ) : (
          <p className="text-sm text-bad">From must be earlier than to.</p>
        )}
      </div>
    </Section>
  )
}

interface DayProps {
  readonly label: string
  readonly value: string
  readonly onChange: (day: string) => void
}

const Day = ({ label, value, onChange }: DayProps) => (
  <label className="grid gap-1 text-sm">
    {label}
    <input
      type="date"
      required
      className="field"
      value={value}
      onChange={({ target }) => target.value !== '' && onChange(target.value)}
    />
  </label>
)
