import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RunFilter, StoredRun } from '../../core/storage/run-store.ts'
import type { ModelCatalogue } from '../../models/catalogue/model-catalogue.ts'
import { UnknownModelError } from '../../models/catalogue/unknown-model-error.ts'
import { type Cassette, CassetteError, runCassette } from '../../validation/cassettes/cassette.ts'
import { cassetteCase } from '../../validation/cassettes/cassette-case.ts'
import { type ReplayOptions, replayCassette } from '../../validation/cassettes/replay-cassette.ts'
import type { FileCase } from '../../validation/suites/suite.ts'
import {
  CASSETTE_QUERY,
  REPLAY_BODY,
  REPLAYED_SCHEMA,
  RUN_QUERY,
  RUN_SCHEMA,
  RUNS_QUERY,
  RUNS_SCHEMA,
} from '../chat/run-schemas.ts'
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
      const cassette = cassetteOf(run)
      return request.query.as === 'case' ? caseOf(cassette) : cassette
    },
  )

  app.post<{ Params: { id: string }; Querystring: { tenant?: string }; Body: { model?: string } | null }>(
    '/api/runs/:id/replay',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'Replays a run from its cassette: no tool is run; with a model, that one is asked anew',
        tags: ['runs'],
        params: { type: 'object', required: ['id'], properties: { id: { type: 'string', maxLength: 200 } } },
        querystring: RUN_QUERY,
        body: REPLAY_BODY,
        response: { 200: REPLAYED_SCHEMA },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const { model } = request.body ?? {}
      if (model !== undefined && !request.caller.scopes.has('chat')) {
        throw new HttpProblem(403, "Asking a model needs the scope 'chat'")
      }
      const tenant = oneTenant(request, request.query.tenant)
      await settleRecords(installation)
      const cassette = cassetteOf(found(id, await storage.runs.get(tenant, id)))
      const options = replayOptions(await installation.manager.getModels(), model)
      const gone = new AbortController()
      reply.raw.once('close', () => gone.abort())
      const by = model ?? null
      try {
        const { answer, unused } = await replayCassette(cassette, { ...options, signal: gone.signal })
        const difference = (model && answer.error) ?? (unused > 0 ? notMade(unused) : null)
        return { same: difference === null, model: by, difference, answer }
      } catch (error) {
        if (!(error instanceof CassetteError)) throw error
        return { same: false, model: by, difference: error.message, answer: null }
      }
    },
  )
}

/** Which model answers, and what must be the same. */
function replayOptions(catalogue: ModelCatalogue, model: string | undefined): ReplayOptions {
  try {
    return model === undefined ? {} : { mode: 'loose', model: catalogue.get(model) }
  } catch (error) {
    if (error instanceof UnknownModelError) throw new HttpProblem(400, error.message)
    throw error
  }
}

const notMade = (unused: number): string =>
  unused === 1 ? 'One call of the run was not made' : `${unused} calls of the run were not made`

const cassetteOf = (run: StoredRun): Cassette => orConflict(() => runCassette(run))
const caseOf = (cassette: Cassette): FileCase => orConflict(() => cassetteCase(cassette))

/** What the run has not in it cannot be made of it. */
function orConflict<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (error instanceof CassetteError) throw new HttpProblem(409, error.message)
    throw error
  }
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
