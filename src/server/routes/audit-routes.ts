import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { AuditFilter, AuditRow } from '../../core/storage/ledger.ts'
import { TOOL_ERRORS } from '../../core/tool-error-code.ts'
import { settleRecords, TENANT_QUERY, tenantAsked } from '../http/context.ts'
import { HttpProblem } from '../http/problem.ts'
import { auditCsv, auditJson } from './audit-export.ts'

const ISO = '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2}))?$'
const TEXT = { type: 'string', minLength: 1, maxLength: 200 }
const OUTCOME = { enum: ['success', 'failure', 'unknown'] }

const AUDIT_QUERY = {
  tool: TEXT,
  caller: { ...TEXT, description: 'The id of a key, or local.' },
  run_id: TEXT,
  outcome: OUTCOME,
  error_code: { enum: Object.keys(TOOL_ERRORS) },
  from: {
    type: 'string',
    pattern: ISO,
    description: 'From this time on, ISO 8601.',
    examples: ['2026-01-31T12:00:00Z'],
  },
  to: { type: 'string', pattern: ISO, description: 'Before this time, ISO 8601.', examples: ['2026-02-01'] },
  limit: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
  cursor: { type: 'string', maxLength: 500, description: 'What the page before gave as next.' },
  format: { enum: ['csv', 'json'], description: 'Everything that matches, as a file to keep.' },
} as const

const nullable = (description?: string) => ({ type: ['string', 'null'], ...(description && { description }) })

const AUDIT_COLUMNS = {
  id: { type: 'string' },
  time: { type: 'string', format: 'date-time' },
  tenant: { type: 'string' },
  caller: nullable('The id of the key that called.'),
  source: nullable('The interface that the call came through.'),
  run_id: nullable('The conversation that it was part of.'),
  tool: { type: 'string' },
  model: nullable('The model that asked for the call, as provider:model.'),
  schema_hash: nullable('Names the definition that was called.'),
  params_hash: nullable('Names the parameters; they themselves are never kept.'),
  outcome: OUTCOME,
  error_code: nullable(),
  duration_ms: { type: 'number' },
  attempts: { type: 'integer' },
  hash: { type: 'string', description: 'Over this row and the one before it in its chain.' },
} as const

const AUDIT_PAGE = {
  description: 'One page',
  type: 'object',
  properties: {
    rows: { type: 'array', items: { type: 'object', properties: AUDIT_COLUMNS } },
    next: { type: 'string', description: 'The cursor of the next page; absent on the last.' },
  },
}

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
export function auditRoutes(app: FastifyInstance): void {
  const { installation } = app
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
  throw new HttpProblem(400, 'The request is not valid', `${name}=${text} is not a valid time`)
}
