import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { AuditFilter, AuditRow } from '../../core/storage/ledger.ts'
import { auditCsv, auditJson } from '../audit-export.ts'
import { HttpProblem } from '../http-problem.ts'
import type { Service } from '../service.ts'
import { settleRecords } from '../settle-records.ts'
import { TENANT_QUERY, tenantAsked } from '../tenant-asked.ts'
import { AUDIT_PAGE, AUDIT_QUERY } from './audit-schemas.ts'

interface AuditQuery {
  readonly tenant?: string
  readonly tool?: string
  readonly caller?: string
  readonly run_id?: string
  readonly outcome?: AuditRow['outcome']
  readonly error_code?: string
  readonly from?: string
  readonly to?: string
  readonly limit: number
  readonly cursor?: string
  readonly format?: 'csv' | 'json'
}

const EXPORTS = {
  csv: { type: 'text/csv; charset=utf-8', write: auditCsv },
  json: { type: 'application/json; charset=utf-8', write: auditJson },
}

/** Who called what, and how it ended. */
export function auditRoutes(app: FastifyInstance, { installation }: Service): void {
  const { ledger } = installation.storage

  app.get<{ Querystring: AuditQuery }>(
    '/audit',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'The record of calls, newest first; with format, all that matches as a file',
        tags: ['audit'],
        querystring: { type: 'object', additionalProperties: false, properties: { ...AUDIT_QUERY, ...TENANT_QUERY } },
        response: { 200: AUDIT_PAGE },
      },
    },
    async (request, reply) => {
      const { query } = request
      const filter = filterOf(query, tenantAsked(request, query.tenant))
      await settleRecords(installation)
      if (query.format === undefined) return ledger.audit(filter)
      const { type, write } = EXPORTS[query.format]
      const day = new Date(installation.clock.wall()).toISOString().slice(0, 10)
      return reply
        .type(type)
        .header('content-disposition', `attachment; filename="audit-${day}.${query.format}"`)
        .send(Readable.from(write((cursor) => ledger.audit({ ...filter, limit: 1_000, ...cursor }))))
    },
  )
}

function filterOf(query: AuditQuery, tenant: string | undefined): AuditFilter {
  const { tool, caller, run_id: runId, outcome, error_code: errorCode, limit, cursor } = query
  const from = timeOf(query, 'from')
  const to = timeOf(query, 'to')
  return {
    tenant,
    limit,
    ...(tool !== undefined && { tool }),
    ...(caller !== undefined && { caller }),
    ...(runId !== undefined && { runId }),
    ...(outcome !== undefined && { outcome }),
    ...(errorCode !== undefined && { errorCode }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(cursor !== undefined && { cursor }),
  }
}

function timeOf(query: AuditQuery, name: 'from' | 'to'): number | undefined {
  const text = query[name]
  if (text === undefined) return undefined
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return time
  throw new HttpProblem(400, 'The request is not valid', `there is no time ${name}=${text}`)
}
