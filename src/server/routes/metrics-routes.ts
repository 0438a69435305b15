import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import type { Installation } from '../../app/installation.ts'
import { usableTools } from '../../app/tools/usable-tools.ts'
import { CONFIG_SCHEMA, type Config } from '../../config/config.ts'
import {
  METRIC_WINDOWS,
  type MetricsQuery,
  type MetricWindow,
  type ModelFigures,
  type ModelMetrics,
} from '../../core/storage/ledger.ts'
import type { StorageStatus } from '../../core/storage/storage.ts'
import type { ValidationStore } from '../../core/storage/validation-store.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { TENANT_QUERY, tenantAsked } from '../http/context.ts'
import { COUNT, exactly, list, object, pathParameter, route, TEXT, TIME } from '../http/route.ts'
import type { ConfiguredLimit, LimitsView, ShownBudget, ShownCircuit, ShownToolLimit } from '../http/views.ts'

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

const QUERY = {
  window: { enum: METRIC_WINDOWS, default: '24h', description: 'How far to look back.' },
  ...TENANT_QUERY,
}

const only = (what: 'tool' | 'model') => ({
  [what]: { type: 'string', minLength: 1, maxLength: 200, description: `Only this ${what}. Default: all.` },
})

/** Metrics of calls and runs. */
export function metricsRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { ledger, validations } = installation.storage

  const metric = <Query extends MetricsQuery = MetricsQuery>(
    path: string,
    summary: string,
    { response, params, querystring = {} }: { response: object; params?: object; querystring?: object },
    read: (query: Query, request: FastifyRequest) => Promise<unknown>,
  ): void => {
    const schema: FastifySchema = { querystring: exactly({ ...QUERY, ...querystring }), response: { 200: response } }
    const options = route('observe', 'metrics', summary, params === undefined ? schema : { ...schema, params })
    app.get<{ Querystring: Query }>(path, options, async (request) => {
      const asked = request.query as Query
      const query = { ...asked, tenant: tenantAsked(request, asked.tenant) }
      await installation.settle()
      return read(query, request)
    })
  }

  metric(
    '/metrics/tools/execution',
    'Tool calls: counts, success rates, latencies and errors, in total and by tool',
    { response: EXECUTION_METRICS },
    (query) => ledger.executions(query),
  )

  metric(
    '/metrics/models',
    'Models: how often they call tools, iterations, latencies, tokens and cost',
    { response: MODEL_METRICS },
    async (query) => {
      const now = installation.clock.wall()
      return withSelectionAccuracy(await ledger.models(query), validations, { tenant: query.tenant, now })
    },
  )

  metric<MetricsQuery & { tool?: string }>(
    '/metrics/tools/series',
    'Tool calls over time',
    { querystring: only('tool'), response: series('tool', FIGURES) },
    (query) => ledger.callSeries(query),
  )

  metric<MetricsQuery & { model?: string }>(
    '/metrics/models/series',
    'Runs over time: counts, iterations, tokens and cost',
    { querystring: only('model'), response: series('model', RUN_FIGURES) },
    (query) => ledger.runSeries(query),
  )

  metric(
    '/metrics/tools/:name/parameters',
    'The most common parameter sets of a tool, by hash',
    { params: pathParameter('name', 200), response: PARAMETER_SETS },
    async (query, request) => {
      const { name: tool } = request.params as { name: string }
      return { window: query.window, tool, parameter_sets: await ledger.parameterSets({ ...query, tool }) }
    },
  )
}

/** The metrics of this server for Prometheus. */
export function prometheusRoutes(app: FastifyInstance): void {
  const { installation, prometheus } = app
  app.get<{ Querystring: { readonly tenant?: string } }>(
    '/metrics',
    route('observe', 'metrics', 'Metrics of this server since it started, in the Prometheus text format', {
      querystring: exactly(TENANT_QUERY),
      response: { 200: { description: 'The metrics', content: { 'text/plain': { schema: TEXT } } } },
    }),
    async (request, reply) => {
      const tenant = tenantAsked(request, request.query.tenant)
      installation.manager.getExecutor().flush()
      return reply.type(prometheus.contentType).send(await prometheus.text(tenant))
    },
  )
}

/** These routes need no key, so the status of the store is cached. */
const CACHE_MS = 1_000

/** Liveness and readiness checks. */
export function statusRoutes(app: FastifyInstance): void {
  const { installation, traffic, packageVersion: version } = app
  const storeStatus = latest(installation.clock.now, () => installation.storage.status().catch(() => UNKNOWN))

  app.get(
    '/health',
    {
      exposeHeadRoute: true,
      ...route(null, 'status', 'Liveness: whether the server is up', {
        response: { 200: object({ status: { type: 'string', examples: ['ok'] }, version: TEXT }, 'Up') },
      }),
    },
    () => ({ status: 'ok', version }),
  )

  app.get(
    '/ready',
    {
      exposeHeadRoute: true,
      ...route(null, 'status', 'Readiness: the state of the store, the MCP servers and the knowledge base', {
        response: { 200: { ...READY, description: 'Ready' }, 503: { ...READY, description: 'Not ready' } },
      }),
    },
    async (_request, reply) => {
      const { engine, ready, problem, vectors } = await storeStatus()
      const servers = installation.manager.getMcpServers()
      const connected = servers.names.filter((name) => servers.connection(name).connected)
      const status = traffic.draining ? 'draining' : ready ? 'ready' : 'not ready'
      return reply.code(status === 'ready' ? 200 : 503).send({
        status,
        version,
        store: { engine, ready, problem },
        mcp_servers: { connected: connected.length, configured: servers.names.length },
        knowledge: { vectors },
      })
    },
  )
}

const READY = object({
  status: { enum: ['ready', 'not ready', 'draining'] },
  version: TEXT,
  store: object({
    engine: { enum: ['sqlite', 'postgres'] },
    ready: { type: 'boolean' },
    problem: { type: 'string', description: 'Absent if there is none.' },
  }),
  mcp_servers: object({ connected: COUNT, configured: COUNT }),
  knowledge: object({ vectors: { type: 'boolean', description: 'Whether the store supports vectors.' } }),
})

const UNKNOWN = { engine: 'sqlite', ready: false, problem: 'The store does not respond', vectors: false } as const

/** Caches the status for a moment. */
function latest(now: () => number, ask: () => Promise<StorageStatus>): () => Promise<StorageStatus> {
  let known: { readonly at: number; readonly status: Promise<StorageStatus> } | undefined
  return () => {
    if (known === undefined || now() - known.at >= CACHE_MS) known = { at: now(), status: ask() }
    return known.status
  }
}

const NUMBER = { type: 'number' }
const RATE = { calls: COUNT, per_ms: NUMBER, remaining: COUNT }
const VIEW = {
  callers: list(
    { id: TEXT, name: TEXT, tenant: TEXT, ...RATE, retry_in_ms: COUNT, set_by: { enum: ['key', 'configuration'] } },
    'The remaining calls of each caller with a rate limit.',
  ),
  tools: list(
    { tool: TEXT, rate_limit: object(RATE), concurrency: object({ most: COUNT, running: COUNT }) },
    'The remaining calls of your tenant for each tool with a limit.',
  ),
  circuits: list(
    {
      tool: TEXT,
      state: { enum: ['closed', 'open', 'half_open'] },
      failures: { ...COUNT, description: 'Consecutive failures.' },
      retry_in_ms: NUMBER,
      since: { ...TIME, description: 'When the circuit breaker opened, or a trial call began.' },
    },
    'The circuit breakers of tools that were called since the server started.',
  ),
  budgets: list(
    { path: TEXT, model: TEXT, wall_time_ms: NUMBER, tokens: NUMBER, cost: NUMBER },
    'The budget of one run, for each response rule that has one.',
  ),
  configured: list(
    { path: TEXT, description: TEXT, value: { type: ['number', 'null'] } },
    'The limits in the configuration, each with its path; null if it is not set.',
  ),
}

/** Limits, budgets and circuit breakers. Reading them uses up nothing. */
export function limitRoutes(app: FastifyInstance): void {
  const { installation } = app
  app.get(
    '/api/limits',
    route('observe', 'limits', 'Returns the limits and circuit breakers of your tenant, and their current state', {
      description:
        "With the scope 'installation': the callers of all tenants, and of each tool the circuit breaker of the tenant that fails most.",
      response: { 200: object(VIEW, 'The state on this server') },
    }),
    ({ caller }): LimitsView => {
      const all = caller.scopes.has('installation')
      const { manager, config } = installation
      const tools = all ? manager.getRegistry().definitions() : usableTools(installation, caller)
      return {
        callers: installation.callerLimits(all ? undefined : caller.tenant),
        tools: toolLimits(installation, tools, caller.tenant, all),
        circuits: circuits(installation, tools, all ? undefined : caller.tenant),
        budgets: budgets(config),
        configured: configured(config),
      }
    },
  )
}

function toolLimits(
  { manager }: Installation,
  tools: readonly ToolDefinition[],
  tenant: string,
  all: boolean,
): ShownToolLimit[] {
  const executor = manager.getExecutor()
  return tools
    .filter(({ rate_limit, max_concurrency }) => rate_limit !== undefined || max_concurrency !== undefined)
    .map(({ name }) => {
      // Prepares a tool that was not called yet.
      executor.effectOf(name)
      const { rate_limit, concurrency } = executor.healthOf(name, tenant)
      // Concurrency counts the calls of all tenants.
      return { tool: name, ...(rate_limit && { rate_limit }), ...(all && concurrency && { concurrency }) }
    })
    .filter((limit) => Object.keys(limit).length > 1)
}

function circuits(
  { manager }: Installation,
  tools: readonly ToolDefinition[],
  tenant: string | undefined,
): ShownCircuit[] {
  const seen = new Set(tools.map(({ name }) => name))
  return [...manager.getExecutor().circuits(tenant)]
    .filter(([tool]) => seen.has(tool))
    .map(([tool, { since, ...state }]) => ({
      tool,
      ...state,
      since: since === undefined ? undefined : new Date(since).toISOString(),
    }))
}

const budgets = ({ responses = [] }: Config): ShownBudget[] =>
  responses.flatMap(({ budget, llm, model }, index) =>
    budget === undefined ? [] : [{ path: `responses[${index}].budget`, model: `${llm}:${model}`, ...budget }],
  )

const { limits, tools } = CONFIG_SCHEMA.properties
const LIMITS = [
  ...Object.entries(limits.properties).map(([key, { description }]) => ({ section: 'limits', key, description })),
  ...(['default_timeout_ms', 'max_iterations', 'max_parallel_calls'] as const).map((key) => ({
    section: 'tools',
    key,
    description: tools.properties[key].description,
  })),
]

const configured = (config: Config): ConfiguredLimit[] =>
  LIMITS.map(({ section, key, description }) => {
    const value = (config[section as 'limits'] as Readonly<Record<string, unknown>> | undefined)?.[key]
    return { path: `${section}.${key}`, description, value: typeof value === 'number' ? value : null }
  })
