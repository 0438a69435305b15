import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { AuditFilter, AuditRow } from '../../core/storage/ledger.ts'
import { TOOL_ERRORS } from '../../core/tool-result.ts'
import { settleRecords, TENANT_QUERY, tenantAsked } from '../http/context.ts'
import { HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, list, object, route, TEXT, TIME } from '../http/route.ts'
import { auditCsv, auditJson } from './audit-export.ts'

const ISO = '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2}))?$'
const NAME = { type: 'string', minLength: 1, maxLength: 200 }
const OUTCOME = { enum: ['success', 'failure', 'unknown'] }

const AUDIT_QUERY = {
  tool: NAME,
  caller: { ...NAME, description: 'The id of an API key, or local.' },
  run_id: NAME,
  outcome: OUTCOME,
  error_code: { enum: Object.keys(TOOL_ERRORS) },
  from: { type: 'string', pattern: ISO, description: 'Start time, ISO 8601.', examples: ['2026-01-31T12:00:00Z'] },
  to: { type: 'string', pattern: ISO, description: 'End time, exclusive, ISO 8601.', examples: ['2026-02-01'] },
  limit: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
  cursor: { type: 'string', maxLength: 500, description: '`next` of the previous page.' },
  format: { enum: ['csv', 'json'], description: 'Downloads all matching calls as a file.' },
}

const nullable = (description?: string) => ({ type: ['string', 'null'], ...(description && { description }) })

const AUDIT_COLUMNS = {
  id: TEXT,
  time: TIME,
  tenant: TEXT,
  caller: nullable('The id of the API key.'),
  source: nullable('The interface that the call came through.'),
  run_id: nullable('The run that the call belongs to.'),
  tool: TEXT,
  model: nullable('The model that requested the call, as provider:model.'),
  schema_hash: nullable('The hash of the tool definition.'),
  params_hash: nullable('A keyed hash of the parameters, which are not stored.'),
  outcome: OUTCOME,
  error_code: nullable(),
  duration_ms: { type: 'number' },
  attempts: COUNT,
  hash: { type: 'string', description: 'The hash of this row and the previous one in its chain.' },
}

const AUDIT_PAGE = object(
  {
    rows: list(AUDIT_COLUMNS),
    next: { type: 'string', description: 'The cursor of the next page; absent on the last.' },
  },
  'One page',
)

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

/** The audit log. */
export function auditRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { ledger } = installation.storage

  app.get<{ Querystring: AuditQuery }>(
    '/audit',
    route('observe', 'audit', 'Lists calls, newest first, or downloads all matching calls', {
      querystring: exactly({ ...AUDIT_QUERY, ...TENANT_QUERY }),
      response: { 200: AUDIT_PAGE },
    }),
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
  const { run_id: runId, error_code: errorCode, tool, caller, outcome, limit, cursor } = query
  const [from, to] = [timeOf(query, 'from'), timeOf(query, 'to')]
  return { tenant, tool, caller, runId, outcome, errorCode, from, to, limit, cursor }
}

function timeOf(query: AuditQuery, name: 'from' | 'to'): number | undefined {
  const text = query[name]
  if (text === undefined) return undefined
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return time
  throw new HttpProblem(400, 'The request is not valid', `${name}=${text} is not a valid time`)
}
