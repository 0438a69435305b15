import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { objectives, reportRange } from '../../operations/objectives.ts'
import { HttpProblem } from '../http/problem.ts'
import { exactly, route, TEXT } from '../http/route.ts'
import { TIME_QUERY, timeOf } from './record-routes.ts'
import { REPORT_FORMATS, type ReportFormat } from './report-export.ts'

interface ReportQuery {
  readonly from?: string
  readonly to?: string
  readonly tenant?: string
  readonly format: ReportFormat
}

/** Each reads all rows, one after the other: more would wait for long. */
const MAX_REPORTS = 4

/** The compliance report as a file. */
export function reportRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { report: operation } = objectives.operations
  let reports = 0

  app.get<{ Querystring: ReportQuery }>(
    '/api/report',
    route(operation.scope, operation.tag, operation.summary, {
      description:
        'Reads and verifies the whole audit log: one report at a time. Without from and to: the last 30 days.',
      querystring: exactly({
        ...TIME_QUERY,
        tenant: { ...TEXT, minLength: 1, maxLength: 64, description: 'Only this tenant. Default: all.' },
        format: { enum: Object.keys(REPORT_FORMATS), default: 'json' },
      }),
      response: { 200: { description: 'The report, as JSON, HTML or CSV' } },
    }),
    async ({ query, caller }, reply) => {
      const given = { from: timeOf(query, 'from'), to: timeOf(query, 'to') }
      const range = reportRange(given, installation.clock.wall())
      const { tenant, format } = query
      if (reports >= MAX_REPORTS) {
        const detail = `${reports} reports are being made or wait: try again when one of them has ended`
        throw new HttpProblem(503, 'Too many reports at once', detail)
      }
      reports++
      const call = { caller, by: caller, face: 'rest', tenant: tenant === '*' ? undefined : tenant } as const
      const report = await Promise.resolve(operation.run(installation, range, call)).finally(() => reports--)
      const { type, write } = REPORT_FORMATS[format]
      return reply
        .type(type)
        .header('content-disposition', `attachment; filename="report-${report.from.slice(0, 10)}.${format}"`)
        .send(Readable.from(write(report)))
    },
  )
}
