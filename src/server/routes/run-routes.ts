import type { FastifyInstance } from 'fastify'
import type { RunFilter } from '../../core/storage/run-store.ts'
import { RUN_SCHEMA, RUNS_QUERY, RUNS_SCHEMA } from '../chat/run-schemas.ts'
import { HttpProblem } from '../http-problem.ts'
import type { Service } from '../service.ts'
import { settleRecords } from '../settle-records.ts'

interface RunsQuery {
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
    async ({ caller, query }) => {
      const { model, stop_reason, limit, cursor } = query
      const filter: RunFilter = {
        tenant: caller.tenant,
        limit,
        ...(model !== undefined && { model }),
        ...(stop_reason !== undefined && { stopReason: stop_reason }),
        ...(cursor !== undefined && { cursor }),
      }
      await settleRecords(installation)
      return storage.runs.list(filter)
    },
  )

  app.get<{ Params: { id: string } }>(
    '/api/runs/:id',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'A run with every step: the turns of its model, and the calls',
        tags: ['runs'],
        params: { type: 'object', required: ['id'], properties: { id: { type: 'string', maxLength: 200 } } },
        response: { 200: RUN_SCHEMA },
      },
    },
    async ({ caller, params: { id } }) => {
      await settleRecords(installation)
      const run = await storage.runs.get(caller.tenant, id)
      if (run === undefined) throw new HttpProblem(404, `Run '${id}' not found`)
      return run
    },
  )
}
