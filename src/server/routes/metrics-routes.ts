import type { FastifyInstance } from 'fastify'
import { METRIC_WINDOWS, type MetricWindow, type ModelFigures, type ModelMetrics } from '../../core/storage/ledger.ts'
import type { ValidationStore } from '../../core/storage/validation-store.ts'
import { settleRecords, TENANT_QUERY, tenantAsked } from '../http/context.ts'

const WINDOW = { type: 'string', examples: ['24h'] }
const MS = { type: 'number', description: 'Milliseconds.' }
const COUNT = { type: 'integer' }
const COUNTS = { type: 'object', additionalProperties: COUNT }

const FIGURES = {
  total: COUNT,
  success_rate: { type: 'number', description: '0 to 1.' },
  avg_ms: MS,
  p50_ms: MS,
  p95_ms: MS,
  p99_ms: MS,
  errors: { ...COUNTS, description: 'How many calls failed, by code.', examples: [{ TIMEOUT: 2 }] },
}

const EXECUTION_METRICS = {
  description: 'The figures',
  type: 'object',
  properties: {
    window: WINDOW,
    ...FIGURES,
    tools: { type: 'object', additionalProperties: { type: 'object', properties: FIGURES } },
  },
}

const TIMES = { type: 'object', properties: { avg_ms: MS, p50_ms: MS, p95_ms: MS, p99_ms: MS } }

const RUN_FIGURES = {
  runs: COUNT,
  runs_with_tools: COUNT,
  tool_calls: COUNT,
  avg_iterations: { type: 'number' },
  max_iterations: COUNT,
  limit_hits: COUNTS,
  stop_reasons: COUNTS,
  with_tools: TIMES,
  without_tools: TIMES,
  prompt_tokens: COUNT,
  completion_tokens: COUNT,
  cost: { type: ['number', 'null'] },
}

const MODEL_METRICS = {
  description: 'The figures of each model',
  type: 'object',
  properties: {
    window: WINDOW,
    models: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: {
          ...RUN_FIGURES,
          selection_accuracy: {
            type: ['number', 'null'],
            description: 'How many of its tests in the window the model passed; null where there were none.',
          },
          tools: {
            type: 'object',
            additionalProperties: { type: 'object', properties: { calls: COUNT, failed: COUNT } },
          },
        },
      },
    },
    tenants: {
      type: 'object',
      description: 'Only where all tenants were asked for.',
      additionalProperties: {
        type: 'object',
        properties: { calls: COUNT, runs: COUNT, cost: { type: ['number', 'null'] } },
      },
    },
  },
}

const PARAMETER_SETS = {
  description: 'The most common first',
  type: 'object',
  properties: {
    window: WINDOW,
    tool: { type: 'string' },
    parameter_sets: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          params_hash: { type: 'string', description: "Keyed with the installation's own key." },
          calls: COUNT,
        },
      },
    },
  },
}

/** The stretches of a window, each with these figures. */
const series = (of: 'tool' | 'model', figures: object) => ({
  description: 'The oldest stretch first, none left out',
  type: 'object',
  properties: {
    window: WINDOW,
    [of]: { type: ['string', 'null'], description: `Null: every ${of}.` },
    bucket_ms: { ...COUNT, description: 'How long a stretch is: a minute, an hour, or six hours.' },
    buckets: {
      type: 'array',
      items: {
        type: 'object',
        properties: { start: { type: 'string', format: 'date-time', description: 'When it begins.' }, ...figures },
      },
    },
  },
})

const CALL_SERIES = series('tool', FIGURES)
const RUN_SERIES = series('model', RUN_FIGURES)

const HOUR = 60 * 60_000
const WINDOWS: Readonly<Record<MetricWindow, number>> = { '1h': HOUR, '24h': 24 * HOUR, '7d': 7 * 24 * HOUR }

/** The figures of a model, with how often it did in tests what was expected of it; null where it was not tested. */
type Judged = ModelFigures & { readonly selection_accuracy: number | null }

/** Adds what the tests of a tenant in the window say. Tests are a tenant's own: of all together nothing is said. */
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

interface MetricsQuery {
  readonly window: MetricWindow
  readonly tenant?: string
}

const NAME = { type: 'string', minLength: 1, maxLength: 200 }

const querystring = {
  type: 'object',
  additionalProperties: false,
  properties: {
    window: { enum: METRIC_WINDOWS, default: '24h', description: 'How far it looks back.' },
    ...TENANT_QUERY,
  },
}

const querystringWith = (properties: object) => ({
  ...querystring,
  properties: { ...querystring.properties, ...properties },
})

/** How calls and runs went. */
export function metricsRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { ledger, validations } = installation.storage

  app.get<{ Querystring: MetricsQuery }>(
    '/metrics/tools/execution',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'How tool calls went: counts, rates, times and errors, all together and by tool',
        tags: ['metrics'],
        querystring,
        response: { 200: EXECUTION_METRICS },
      },
    },
    async (request) => {
      const { window, tenant } = request.query
      const query = { window, tenant: tenantAsked(request, tenant) }
      await settleRecords(installation)
      return ledger.executions(query)
    },
  )

  app.get<{ Querystring: MetricsQuery }>(
    '/metrics/models',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'How models behaved: how often they call tools, how deep they go, what they take and cost',
        tags: ['metrics'],
        querystring,
        response: { 200: MODEL_METRICS },
      },
    },
    async (request) => {
      const { window, tenant } = request.query
      const query = { window, tenant: tenantAsked(request, tenant) }
      await settleRecords(installation)
      const now = installation.clock.wall()
      return withSelectionAccuracy(await ledger.models(query), validations, { tenant: query.tenant, now })
    },
  )

  app.get<{ Querystring: MetricsQuery & { tool?: string } }>(
    '/metrics/tools/series',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'How tool calls went over time',
        tags: ['metrics'],
        querystring: querystringWith({ tool: { ...NAME, description: 'Only this tool; all if not given.' } }),
        response: { 200: CALL_SERIES },
      },
    },
    async (request) => {
      const { tenant, ...rest } = request.query
      const query = { ...rest, tenant: tenantAsked(request, tenant) }
      await settleRecords(installation)
      return ledger.callSeries(query)
    },
  )

  app.get<{ Querystring: MetricsQuery & { model?: string } }>(
    '/metrics/models/series',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'How runs went over time: how many, how deep, and what they cost',
        tags: ['metrics'],
        querystring: querystringWith({ model: { ...NAME, description: 'Only this model; all if not given.' } }),
        response: { 200: RUN_SERIES },
      },
    },
    async (request) => {
      const { tenant, ...rest } = request.query
      const query = { ...rest, tenant: tenantAsked(request, tenant) }
      await settleRecords(installation)
      return ledger.runSeries(query)
    },
  )

  app.get<{ Querystring: MetricsQuery; Params: { name: string } }>(
    '/metrics/tools/:name/parameters',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'The most common parameter sets of a tool, by hash',
        tags: ['metrics'],
        params: { type: 'object', properties: { name: { type: 'string', maxLength: 200 } } },
        querystring,
        response: { 200: PARAMETER_SETS },
      },
    },
    async (request) => {
      const { window, tenant } = request.query
      const tool = request.params.name
      const query = { window, tool, tenant: tenantAsked(request, tenant) }
      await settleRecords(installation)
      return { window, tool, parameter_sets: await ledger.parameterSets(query) }
    },
  )
}

/** The figures of this server, for Prometheus. */
export function prometheusRoutes(app: FastifyInstance): void {
  const { installation, prometheus } = app
  app.get<{ Querystring: { readonly tenant?: string } }>(
    '/metrics',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'The figures of this server since it started, in the text format of Prometheus',
        tags: ['metrics'],
        querystring: { type: 'object', additionalProperties: false, properties: TENANT_QUERY },
        response: { 200: { description: 'The figures', content: { 'text/plain': { schema: { type: 'string' } } } } },
      },
    },
    async (request, reply) => {
      const tenant = tenantAsked(request, request.query.tenant)
      installation.manager.getExecutor().flush()
      return reply.type(prometheus.contentType).send(await prometheus.text(tenant))
    },
  )
}
