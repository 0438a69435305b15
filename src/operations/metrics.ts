import { METRIC_WINDOWS, type MetricWindow, type ModelFigures, type ModelMetrics } from '../core/storage/ledger.ts'
import type { ValidationStore } from '../core/storage/validation-store.ts'
import { COUNT, inPath, list, object, operation, type StoreHost, TEXT, TIME } from './operation.ts'

const WINDOW = { type: 'string', examples: ['24h'] }
const MS = { type: 'number', description: 'Milliseconds.' }
const COUNTS = { type: 'object', additionalProperties: COUNT }
const COST = { type: ['number', 'null'] }
const TIMES = { avg_ms: MS, p50_ms: MS, p95_ms: MS, p99_ms: MS }

const byName = (properties: object) => ({ type: 'object', additionalProperties: object(properties) })

const FIGURES = {
  total: COUNT,
  success_rate: { type: 'number', description: '0 to 1.' },
  ...TIMES,
  errors: { ...COUNTS, description: 'Failed calls by error code.', examples: [{ TIMEOUT: 2 }] },
}

const EXECUTION_METRICS = object({ window: WINDOW, ...FIGURES, tools: byName(FIGURES) }, 'The metrics')

const RUN_FIGURES = {
  runs: COUNT,
  runs_with_tools: COUNT,
  tool_calls: COUNT,
  avg_iterations: { type: 'number' },
  max_iterations: COUNT,
  limit_hits: COUNTS,
  stop_reasons: COUNTS,
  with_tools: object(TIMES),
  without_tools: object(TIMES),
  prompt_tokens: COUNT,
  completion_tokens: COUNT,
  cost: COST,
}

const ACCURACY = {
  type: ['number', 'null'],
  description: 'The share of tests in the window that the model passed; null if there were none.',
}

const MODEL_METRICS = object(
  {
    window: WINDOW,
    models: byName({ ...RUN_FIGURES, selection_accuracy: ACCURACY, tools: byName({ calls: COUNT, failed: COUNT }) }),
    tenants: {
      ...byName({ calls: COUNT, runs: COUNT, cost: COST }),
      description: 'Only if the request asks for all tenants.',
    },
  },
  'The metrics of each model',
)

const PARAMETER_SETS = object(
  {
    window: WINDOW,
    tool: TEXT,
    parameter_sets: list({
      params_hash: { type: 'string', description: "Keyed with the installation's own key." },
      calls: COUNT,
    }),
  },
  'The most common first',
)

/** The buckets of a window, each with these figures. */
const series = (of: 'tool' | 'model', figures: object) =>
  object(
    {
      window: WINDOW,
      [of]: { type: ['string', 'null'], description: `Null: every ${of}.` },
      bucket_ms: { ...COUNT, description: 'The length of a bucket: one minute, one hour or six hours.' },
      buckets: list({ start: TIME, ...figures }),
    },
    'The oldest bucket first, including empty ones',
  )

const HOUR = 60 * 60_000
const WINDOWS: Readonly<Record<MetricWindow, number>> = { '1h': HOUR, '24h': 24 * HOUR, '7d': 7 * 24 * HOUR }

/** The figures of a model, with the share of tests that it passed; null if it was not tested. */
type Judged = ModelFigures & { readonly selection_accuracy: number | null }

/** Adds the results of a tenant's tests in the window. Tests belong to one tenant, so all tenants together have none. */
async function withSelectionAccuracy(
  metrics: ModelMetrics,
  validations: ValidationStore,
  { tenant, now }: { readonly tenant: string | undefined; readonly now: number },
): Promise<ModelMetrics & { readonly models: Readonly<Record<string, Judged>> }> {
  const from = now - WINDOWS[metrics.window]
  const accuracies = new Map<string, number>()
  for (const { model_id, test_history } of tenant === undefined ? [] : await validations.list(tenant)) {
    const tests = test_history.filter(({ timestamp }) => Date.parse(timestamp) >= from)
    const passed = tests.filter(({ success }) => success).length
    if (tests.length > 0) accuracies.set(model_id, passed / tests.length)
  }
  const models = Object.entries(metrics.models).map(([id, figures]) => [
    id,
    { ...figures, selection_accuracy: accuracies.get(id) ?? null },
  ])
  return { ...metrics, models: Object.fromEntries(models) }
}

/** `tenant` has this place in the API reference. */
const QUERY = {
  window: { enum: METRIC_WINDOWS, default: '24h', description: 'How far to look back.' },
  tenant: TEXT,
} as const

const only = (what: 'tool' | 'model') =>
  ({ type: 'string', minLength: 1, maxLength: 200, description: `Only this ${what}. Default: all.` }) as const

const METRIC = { method: 'GET', scope: 'observe', tag: 'metrics', tenant: 'any', needs: 'store' } as const

/** The ledger, once all answered calls are recorded. */
async function ledgerOf(host: StoreHost): Promise<StoreHost['storage']['ledger']> {
  await host.settle()
  return host.storage.ledger
}

/** Metrics of calls and runs. */
export const metrics = {
  operations: {
    executions: operation({
      ...METRIC,
      ...{ id: 'metrics.executions', path: '/metrics/tools/execution' },
      summary: 'Tool calls: counts, success rates, latencies and errors, in total and by tool',
      query: QUERY,
      answer: EXECUTION_METRICS,
      run: async (host, { window }, { tenant }) => (await ledgerOf(host)).executions({ window, tenant }),
    }),
    models: operation({
      ...METRIC,
      ...{ id: 'metrics.models', path: '/metrics/models' },
      summary: 'Models: how often they call tools, iterations, latencies, tokens and cost',
      query: QUERY,
      answer: MODEL_METRICS,
      async run(host, { window }, { tenant }) {
        const ledger = await ledgerOf(host)
        const now = host.clock.wall()
        return withSelectionAccuracy(await ledger.models({ window, tenant }), host.storage.validations, { tenant, now })
      },
    }),
    callSeries: operation({
      ...METRIC,
      ...{ id: 'metrics.callSeries', path: '/metrics/tools/series', summary: 'Tool calls over time' },
      query: { ...QUERY, tool: only('tool') },
      answer: series('tool', FIGURES),
      run: async (host, input, { tenant }) => (await ledgerOf(host)).callSeries({ ...input, tenant }),
    }),
    runSeries: operation({
      ...METRIC,
      ...{ id: 'metrics.runSeries', path: '/metrics/models/series' },
      summary: 'Runs over time: counts, iterations, tokens and cost',
      query: { ...QUERY, model: only('model') },
      answer: series('model', RUN_FIGURES),
      run: async (host, input, { tenant }) => (await ledgerOf(host)).runSeries({ ...input, tenant }),
    }),
    parameterSets: operation({
      ...METRIC,
      ...{ id: 'metrics.parameterSets', path: '/metrics/tools/:name/parameters' },
      summary: 'The most common parameter sets of a tool, by hash',
      params: { name: inPath(200) },
      query: QUERY,
      answer: PARAMETER_SETS,
      async run(host, { window, name: tool }, { tenant }) {
        const ledger = await ledgerOf(host)
        return { window, tool, parameter_sets: await ledger.parameterSets({ window, tool, tenant }) }
      },
    }),
  },
}
