import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { complianceReport } from '../../app/service-levels/compliance-report.ts'
import type { ObjectiveReport } from '../../app/service-levels/objectives.ts'
import { usableTools } from '../../app/tools/usable-tools.ts'
import { matchesGlobs } from '../../core/execution/permit.ts'
import { TENANT_QUERY, tenantAsked } from '../http/context.ts'
import { HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, list, object, route, TEXT, TIME, TIME_OR_NULL } from '../http/route.ts'
import type { ObjectivesView } from '../http/views.ts'
import { TIME_QUERY, timeOf } from './record-routes.ts'
import { REPORT_FORMATS, type ReportFormat } from './report-export.ts'

const NUMBER = { type: 'number' }
const RATE = { type: ['number', 'null'] }

const OBJECTIVES = object(
  {
    objectives: list({
      id: { ...TEXT, examples: ['get_weather success 0.995 30d'] },
      tool: { type: ['string', 'null'], description: 'A pattern; null: all tools together.' },
      indicator: { enum: ['success', 'p95_ms'] },
      target: NUMBER,
      window: { ...TEXT, examples: ['30d'] },
      calls: { ...COUNT, description: 'Without refused, invalid and cancelled calls.' },
      bad: { ...COUNT, description: 'Calls that failed, or took longer than the target.' },
      error_budget_left: { ...NUMBER, description: '1: all of it; negative: the target is missed.' },
      burn_rates: {
        ...object({ '5m': RATE, '1h': RATE, '6h': RATE, '3d': RATE }),
        description: 'How many times as fast as planned the error budget is used up; null if there were no calls.',
      },
      days: list({ start: TIME, calls: COUNT, bad: COUNT }),
    }),
    alerts: list(
      {
        objective: TEXT,
        severity: { enum: ['fast', 'slow'] },
        opened_at: TIME,
        resolved_at: { ...TIME_OR_NULL, description: 'Null while it is open.' },
      },
      'The newest first. Only if the request asks for all tenants.',
    ),
  },
  'The objectives',
)

interface ReportQuery {
  readonly from?: string
  readonly to?: string
  readonly tenant?: string
  readonly format: ReportFormat
}

const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
/** Each reads all rows, one after the other: more would wait for long. */
const MAX_REPORTS = 4

/** Service level objectives and the compliance report. */
export function objectiveRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { objectives, storage, clock } = installation
  let reports = 0

  app.get<{ Querystring: { tenant?: string } }>(
    '/api/objectives',
    route('observe', 'metrics', 'Returns the objectives, how much of their error budget is left, and alerts', {
      description: 'Alerts are about the calls of all tenants together.',
      querystring: exactly(TENANT_QUERY),
      response: { 200: OBJECTIVES },
    }),
    async (request): Promise<ObjectivesView> => {
      const tenant = tenantAsked(request, request.query.tenant)
      await installation.settle()
      const reports = await objectives.report(tenant)
      if (tenant === undefined) {
        const { alerts } = await objectives.state()
        return { objectives: reports, alerts: alerts.map(({ calm_since: _, ...alert }) => alert) }
      }
      // The name of a tool says that it exists.
      const names = usableTools(installation, request.caller).map(({ name }) => name)
      const isSeen = ({ tool }: ObjectiveReport) => tool === null || names.some((name) => matchesGlobs([tool], name))
      return { objectives: reports.filter(isSeen) }
    },
  )

  app.get<{ Querystring: ReportQuery }>(
    '/api/report',
    route('installation', 'audit', 'Reports who used what, denied calls, approvals, changes, cost and integrity', {
      description:
        'Reads and verifies the whole audit log: one report at a time. Without from and to: the last 30 days.',
      querystring: exactly({
        ...TIME_QUERY,
        tenant: { ...TEXT, minLength: 1, maxLength: 64, description: 'Only this tenant. Default: all.' },
        format: { enum: Object.keys(REPORT_FORMATS), default: 'json' },
      }),
      response: { 200: { description: 'The report, as JSON, HTML or CSV' } },
    }),
    async ({ query }, reply) => {
      const to = timeOf(query, 'to') ?? clock.wall()
      const from = timeOf(query, 'from') ?? to - DEFAULT_DAYS * DAY_MS
      if (from >= to) throw new HttpProblem(400, 'The request is not valid', 'from must be earlier than to')
      const { tenant, format } = query
      if (reports >= MAX_REPORTS) {
        const detail = `${reports} reports are being made or wait: try again when one of them has ended`
        throw new HttpProblem(503, 'Too many reports at once', detail)
      }
      reports++
      const asked = { tenant: tenant === '*' ? undefined : tenant, from, to }
      const made = installation.settle().then(() => complianceReport(asked, { storage, objectives, clock }))
      const report = await made.finally(() => reports--)
      const { type, write } = REPORT_FORMATS[format]
      const day = new Date(from).toISOString().slice(0, 10)
      return reply
        .type(type)
        .header('content-disposition', `attachment; filename="report-${day}.${format}"`)
        .send(Readable.from(write(report)))
    },
  )
}
