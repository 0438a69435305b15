import type { FastifyInstance } from 'fastify'
import { METRIC_WINDOWS, type MetricWindow } from '../../core/storage/ledger.ts'
import { withSelectionAccuracy } from '../selection-accuracy.ts'
import type { Service } from '../service.ts'
import { settleRecords } from '../settle-records.ts'
import { TENANT_QUERY, tenantAsked } from '../tenant-asked.ts'
import { CALL_SERIES, EXECUTION_METRICS, MODEL_METRICS, PARAMETER_SETS, RUN_SERIES } from './metrics-schemas.ts'

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
export function metricsRoutes(app: FastifyInstance, { installation }: Service): void {
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
