import { useQuery } from '@tanstack/react-query'
import type { ModelFigures } from '../../../../src/core/storage/ledger.ts'
import { inMoney, inNumber } from '../../parts/figures.ts'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import type { Drawn } from './drawn.ts'
import { type MetricsView, modelMetricsQuery, runSeriesQuery } from './metrics-queries.ts'
import { Tiles } from './tiles.tsx'
import { TimeChart } from './time-chart.tsx'

const COST: readonly Drawn[] = [{ key: 'cost', label: 'Cost', colour: 'var(--accent)', as: 'bar' }]
const DEPTH: readonly Drawn[] = [
  { key: 'average', label: 'Average', colour: 'var(--accent)', as: 'line' },
  { key: 'deepest', label: 'Deepest', colour: 'var(--warn)', as: 'line', dash: '7 3' },
]

const short = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const inDepth = (turns: number): string => short.format(turns)

/** Sums up the metrics of several models. */
function together(models: readonly ModelFigures[]) {
  const sum = (of: (one: ModelFigures) => number) => models.reduce((total, one) => total + of(one), 0)
  const runs = sum((one) => one.runs)
  const priced = models.filter(({ cost }) => cost !== null)
  return {
    runs,
    calls: sum((one) => one.tool_calls),
    average: runs === 0 ? 0 : sum((one) => one.avg_iterations * one.runs) / runs,
    deepest: Math.max(0, ...models.map(({ max_iterations }) => max_iterations)),
    limits: sum(({ limit_hits }) => Object.values(limit_hits).reduce((all, hits) => all + hits, 0)),
    cost: priced.length === 0 ? null : sum(({ cost }) => cost ?? 0),
  }
}

/** Cost and iteration depth of runs. */
export function RunCharts({ view }: { readonly view: MetricsView }) {
  const whole = useQuery(modelMetricsQuery(view))
  const series = useQuery(runSeriesQuery(view))
  const error = whole.error ?? series.error
  if (whole.data === undefined || series.data === undefined) {
    if (!error) return <Loading what="the run metrics" />
    const again = () => void Promise.all([whole.refetch(), series.refetch()])
    return <Failed error={error} what="the run metrics" again={again} />
  }
  const chosen = Object.entries(whole.data.models).filter(([id]) => view.model === '' || id === view.model)
  const figures = together(chosen.map(([, model]) => model))
  if (figures.runs === 0) {
    return (
      <Empty title="No runs in this period" action={{ label: 'Test a model', href: '/tools-testing' }}>
        Choose a longer period, or ask a model on the Testing page.
      </Empty>
    )
  }
  const { window } = series.data
  const rows = series.data.buckets.map(({ start, runs, cost, avg_iterations, max_iterations }) => ({
    start,
    // Runs without a price are a gap.
    cost: cost ?? (runs === 0 ? 0 : null),
    average: runs === 0 ? null : avg_iterations,
    deepest: runs === 0 ? null : max_iterations,
  }))
  return (
    <>
      {error && <Failed error={error} what="newer metrics" />}
      <Tiles
        label="Runs in this period"
        tiles={{
          Runs: inNumber(figures.runs),
          'Tool calls': inNumber(figures.calls),
          Cost: figures.cost === null ? 'unknown' : inMoney(figures.cost),
          'Average depth': inDepth(figures.average),
          Deepest: inNumber(figures.deepest),
          'Ended by a limit': inNumber(figures.limits),
        }}
      />
      <div className="grid grid-cols-1 items-start gap-3 lg:grid-cols-2">
        {figures.cost === null ? (
          <section className="panel p-4">
            <h3 className="font-semibold">Cost</h3>
            <p className="text-sm text-muted">
              Costs are unknown. Set <code className="font-mono">prices</code> of the models in the configuration.
            </p>
          </section>
        ) : (
          <TimeChart
            title="Cost"
            note="Runs of models with prices"
            format={inMoney}
            {...{ window, rows, drawn: COST }}
          />
        )}
        <TimeChart
          title="Iteration depth"
          note="Turns with tool calls per run"
          format={inDepth}
          {...{ window, rows, drawn: DEPTH }}
        />
      </div>
    </>
  )
}
