import { useQuery } from '@tanstack/react-query'
import { count, inNumber, inSuccess, inTime } from '../../parts/figures.ts'
import { Failed, Loading } from '../../parts/states.tsx'
import { figuresOf } from '../charts/call-charts.tsx'
import { callRows, callSeries } from '../charts/call-rows.ts'
import { callSeriesQuery, executionQuery, metricsViewOf } from '../charts/metrics-queries.ts'
import { TimeChart } from '../charts/time-chart.tsx'

/** The calls of a saved view of metrics. */
export function MetricsTile({ params }: { readonly params: URLSearchParams }) {
  const view = metricsViewOf(params)
  const whole = useQuery(executionQuery(view))
  const series = useQuery(callSeriesQuery(view))
  const error = whole.error ?? series.error
  if (whole.data === undefined || series.data === undefined) {
    return error ? <Failed error={error} what="the chart" /> : <Loading what="the chart" />
  }
  const figures = figuresOf(whole.data, view.tool)
  if (figures === undefined || figures.total === 0) return <p className="mt-1 text-muted">No calls in this period</p>
  const rows = callRows(series.data)
  return (
    <>
      <p className="mt-1 mb-2 text-sm tabular-nums">
        {count(figures.total, 'call')}, {inSuccess(figures)} successful, p95 {inTime(figures.p95_ms)}
      </p>
      <TimeChart
        title={view.tool === '' ? 'Calls' : `Calls of ${view.tool}`}
        note={`The last ${view.window}`}
        format={inNumber}
        whole
        window={series.data.window}
        rows={rows}
        drawn={callSeries(rows)}
      />
    </>
  )
}
