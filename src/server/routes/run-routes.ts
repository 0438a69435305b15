import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RunFilter, StoredRun } from '../../core/storage/run-store.ts'
import { cassetteCase } from '../../validation/cassettes/cassette-case.ts'
import { CassetteError } from '../../validation/cassettes/cassette-error.ts'
import { runCassette } from '../../validation/cassettes/run-cassette.ts'
import { CASSETTE_QUERY, RUN_QUERY, RUN_SCHEMA, RUNS_QUERY, RUNS_SCHEMA } from '../chat/run-schemas.ts'
import { HttpProblem } from '../http-problem.ts'
import type { Service } from '../service.ts'
import { settleRecords } from '../settle-records.ts'
import { tenantAsked } from '../tenant-asked.ts'

interface RunsQuery {
  readonly tenant?: string
  readonly model?: string
  readonly stop_reason?: string
  readonly limit: number
  readonly cursor?: string
}

/** What has been asked and answered. */
export function runRoutes(app: FastifyInstance, { installation }: Service): void {
  const { storage } = installation

  app.get<{ Querystring: RunsQuery }>(
    '/api/runs',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'The runs of the tenant, newest first, without their steps',
        tags: ['runs'],
        querystring: RUNS_QUERY,
        response: { 200: RUNS_SCHEMA },
      },
    },
    async (request) => {
      const { tenant, model, stop_reason, limit, cursor } = request.query
      const filter: RunFilter = {
        tenant: oneTenant(request, tenant),
        limit,
        ...(model !== undefined && { model }),
        ...(stop_reason !== undefined && { stopReason: stop_reason }),
        ...(cursor !== undefined && { cursor }),
      }
      await settleRecords(installation)
      return storage.runs.list(filter)
    },
  )

  app.get<{ Params: { id: string }; Querystring: { tenant?: string } }>(
    '/api/runs/:id',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'A run with every step: the turns of its model, and the calls',
        tags: ['runs'],
        params: { type: 'object', required: ['id'], properties: { id: { type: 'string', maxLength: 200 } } },
        querystring: RUN_QUERY,
        response: { 200: RUN_SCHEMA },
      },
    },
    async (request) => {
      const { id } = request.params
      const tenant = oneTenant(request, request.query.tenant)
      await settleRecords(installation)
      return found(id, await storage.runs.get(tenant, id))
    },
  )

  app.get<{ Params: { id: string }; Querystring: { tenant?: string; as?: 'case' } }>(
    '/api/runs/:id/cassette',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'A run as a file that can be replayed, or as a case that models are tested with',
        tags: ['runs'],
        params: { type: 'object', required: ['id'], properties: { id: { type: 'string', maxLength: 200 } } },
        querystring: CASSETTE_QUERY,
        response: { 200: { type: 'object', additionalProperties: true } },
      },
    },
    async (request) => {
      const { id } = request.params
      const tenant = oneTenant(request, request.query.tenant)
      await settleRecords(installation)
      const run = found(id, await storage.runs.get(tenant, id))
      try {
        const cassette = runCassette(run)
        return request.query.as === 'case' ? cassetteCase(cassette) : cassette
      } catch (error) {
        if (error instanceof CassetteError) throw new HttpProblem(409, error.message)
        throw error
      }
    },
  )
}

function found(id: string, run: StoredRun | undefined): StoredRun {
  if (run === undefined) throw new HttpProblem(404, `Run '${id}' not found`)
  return run
}

/** Runs are kept tenant by tenant. */
function oneTenant(request: FastifyRequest, asked: string | undefined): string {
  const tenant = tenantAsked(request, asked)
  if (tenant === undefined) throw new HttpProblem(400, 'Runs can be looked at for one tenant at a time', 'name it')
  return tenant
}
