import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type {
  CallSeriesMetrics,
  ExecutionMetrics,
  MetricWindow,
  ModelMetrics,
  RunSeriesMetrics,
} from '../../../../src/core/storage/ledger.ts'
import { serverIsUp } from '../../api/connection.ts'
import { requestJson } from '../../api/request.ts'

/** The selection of all charts. An empty string means all; for tenants, your own. */
export interface MetricsView {
  readonly window: MetricWindow
  readonly tool: string
  readonly model: string
  readonly tenant: string
}

export const WINDOWS: readonly MetricWindow[] = ['1h', '24h', '7d']

/** Reads the URL. An unknown window is replaced with the default. */
export function metricsViewOf(params: URLSearchParams): MetricsView {
  return {
    window: WINDOWS.find((window) => window === params.get('window')) ?? '24h',
    tool: params.get('tool') ?? '',
    model: params.get('model') ?? '',
    tenant: params.get('tenant') ?? '',
  }
}

/** Hidden tabs don't refresh. */
const LIVE_MS = 15_000

/** The common query key, which invalidates all of them. */
export const METRICS = 'metrics'

const metrics = <Answer>(path: string, asked: Readonly<Record<string, string>>) => {
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== ''))
  return queryOptions({
    queryKey: [METRICS, path, asked],
    queryFn: ({ signal }) => requestJson<Answer>(`${path}?${query}`, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: () => serverIsUp() && LIVE_MS,
  })
}

export const executionQuery = ({ window, tenant }: MetricsView) =>
  metrics<ExecutionMetrics>('/metrics/tools/execution', { window, tenant })
export const callSeriesQuery = ({ window, tenant, tool }: MetricsView) =>
  metrics<CallSeriesMetrics>('/metrics/tools/series', { window, tenant, tool })
export const modelMetricsQuery = ({ window, tenant }: MetricsView) =>
  metrics<ModelMetrics>('/metrics/models', { window, tenant })
export const runSeriesQuery = ({ window, tenant, model }: MetricsView) =>
  metrics<RunSeriesMetrics>('/metrics/models/series', { window, tenant, model })
