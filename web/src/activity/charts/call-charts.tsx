import { useQuery } from '@tanstack/react-query'
import type { ExecutionMetrics } from '../../../../src/core/storage/ledger.ts'
import { inNumber, inPercent, inSuccess, inTime } from '../../parts/figures.ts'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import { callRows, callSeries } from './call-rows.ts'
import type { Drawn } from './drawn.ts'
import { ErrorChart } from './error-chart.tsx'
import { callSeriesQuery, executionQuery, type MetricsView } from './metrics-queries.ts'
import { Tiles } from './tiles.tsx'
import { TimeChart } from './time-chart.tsx'

const RATE: readonly Drawn[] = [{ key: 'rate', label: 'Success rate', colour: 'var(--good)', as: 'line' }]
const TIMES: readonly Drawn[] = [
  { key: 'p50', label: 'p50', colour: 'var(--accent)', as: 'line' },
  { key: 'p95', label: 'p95', colour: 'var(--warn)', as: 'line', dash: '7 3' },
  { key: 'p99', label: 'p99', colour: 'var(--bad)', as: 'line', dash: '2 3' },
]

/** The metrics of all calls or of one tool; undefined if it was not called. */
export const figuresOf = (metrics: ExecutionMetrics, tool: string) =>
  tool === '' ? metrics : Object.hasOwn(metrics.tools, tool) ? metrics.tools[tool] : undefined

/** Charts of tool calls. */
export function CallCharts({ view }: { readonly view: MetricsView }) {
  const whole = useQuery(executionQuery(view))
  const series = useQuery(callSeriesQuery(view))
  const error = whole.error ?? series.error
  if (whole.data === undefined || series.data === undefined) {
    if (!error) return <Loading what="the call metrics" />
    const again = () => void Promise.all([whole.refetch(), series.refetch()])
    return <Failed error={error} what="the call metrics" again={again} />
  }
  const figures = figuresOf(whole.data, view.tool)
  if (figures === undefined || figures.total === 0) {
    return (
      <Empty title="No calls in this period" action={{ label: 'Open the tools', href: '/' }}>
        Choose a longer period, or run a tool.
      </Empty>
    )
  }
  const { window } = series.data
  const rows = callRows(series.data)
  const stretch = { '1h': 'minute', '24h': 'hour', '7d': '6 hours' }[window]
  return (
    <>
      {error && <Failed error={error} what="newer metrics" />}
      <Tiles
        label="Calls in this period"
        tiles={{
          Calls: inNumber(figures.total),
          Successful: inSuccess(figures),
          Average: inTime(figures.avg_ms),
          p50: inTime(figures.p50_ms),
          p95: inTime(figures.p95_ms),
          p99: inTime(figures.p99_ms),
        }}
      />
      <div className="grid grid-cols-1 items-start gap-3 lg:grid-cols-2">
        <TimeChart
          title="Calls"
          note={`Calls per ${stretch}`}
          format={inNumber}
          whole
          {...{ window, rows, drawn: callSeries(rows) }}
        />
        <TimeChart
          title="Success rate"
          note="Share of ended calls that succeeded"
          format={inPercent}
          most={1}
          {...{ window, rows, drawn: RATE }}
        />
        <TimeChart
          title="Latency"
          note="Percentiles. Each line of the grid is ten times the one below"
          format={inTime}
          logarithmic
          {...{ window, rows, drawn: TIMES }}
        />
        <ErrorChart errors={figures.errors} total={figures.total} />
      </div>
    </>
  )
}
