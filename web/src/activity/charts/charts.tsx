import { useIsFetching, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useMay } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Choice, type Option } from '../../parts/choice.tsx'
import { FilterText } from '../../parts/filter-text.tsx'
import { Empty } from '../../parts/states.tsx'
import { useAddress } from '../address.ts'
import { CallCharts } from './call-charts.tsx'
import { executionQuery, METRICS, metricsViewOf, modelMetricsQuery, WINDOWS } from './metrics-queries.ts'
import { RunCharts } from './run-charts.tsx'

/** Charts of calls and runs. */
export function Charts() {
  const mayObserve = useMay('observe')
  if (!mayObserve) return <Empty title="Your key can’t view metrics">It lacks the scope observe.</Empty>
  return <AllCharts />
}

function AllCharts() {
  const client = useQueryClient()
  const wholeInstallation = useMay('installation')
  const fetching = useIsFetching({ queryKey: [METRICS] }) > 0
  const [params, change] = useAddress()
  const view = metricsViewOf(params)
  const { data: calls } = useQuery(executionQuery(view))
  const { data: runs } = useQuery(modelMetricsQuery(view))
  return (
    <div className="grid grid-cols-1 gap-6">
      <div className="flex flex-wrap items-center gap-2">
        <fieldset className="flex gap-1">
          <legend className="sr-only">Time</legend>
          {WINDOWS.map((window) => (
            <Button
              key={window}
              aria-pressed={view.window === window}
              className="aria-pressed:border-accent aria-pressed:text-accent"
              onClick={() => change({ window: window === '24h' ? '' : window })}
            >
              {window}
            </Button>
          ))}
        </fieldset>
        {wholeInstallation && (
          <div className="w-52">
            <FilterText
              label="Tenant"
              placeholder="Tenant, or * for all"
              value={view.tenant}
              onChange={(tenant) => change({ tenant })}
            />
          </div>
        )}
        <Button
          className="ml-auto"
          disabled={fetching}
          onClick={() => void client.invalidateQueries({ queryKey: [METRICS] })}
        >
          Refresh
        </Button>
      </div>
      <Part
        title="Tool calls"
        choice={
          <Choice
            label="Tool"
            value={view.tool}
            options={optionsOf('All tools', Object.keys(calls?.tools ?? {}), view.tool)}
            onChange={(tool) => change({ tool })}
          />
        }
      >
        <CallCharts view={view} />
      </Part>
      <Part
        title="Runs of models"
        choice={
          <Choice
            label="Model"
            value={view.model}
            options={optionsOf('All models', Object.keys(runs?.models ?? {}), view.model)}
            onChange={(model) => change({ model })}
          />
        }
      >
        <RunCharts view={view} />
      </Part>
    </div>
  )
}

/** The used entries, plus the selected one. */
function optionsOf(all: string, names: readonly string[], chosen: string): readonly Option[] {
  const known = new Set(chosen === '' ? names : [...names, chosen])
  return [{ value: '', label: all }, ...[...known].sort().map((name) => ({ value: name, label: name }))]
}

interface PartProps {
  readonly title: string
  readonly choice: ReactNode
  readonly children: ReactNode
}

const Part = ({ title, choice, children }: PartProps) => (
  <section className="grid min-w-0 grid-cols-1 gap-3">
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <h2 className="text-lg font-semibold">{title}</h2>
      <div className="w-52 max-w-full">{choice}</div>
    </div>
    {children}
  </section>
)
