import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { StoredRun } from '../../core/storage/run-store.ts'
import type { ModelCatalogue } from '../../models/model-catalogue.ts'
import { UnknownModelError } from '../../models/model-error.ts'
import { type Cassette, CassetteError, cassetteCase, runCassette } from '../../validation/cassettes/cassette.ts'
import { type ReplayOptions, replayCassette } from '../../validation/cassettes/replay-cassette.ts'
import type { FileCase } from '../../validation/suites/suite.ts'
import { ONE_TENANT_QUERY, oneTenantAsked, settleRecords } from '../http/context.ts'
import { HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, list, object, pathParameter, route, TEXT, TIME } from '../http/route.ts'
import { GATE, STOP_REASON } from './chat-routes.ts'

const LISTED = {
  id: TEXT,
  tenant: TEXT,
  caller: { type: ['string', 'null'], description: 'The id of the API key.' },
  model: { type: 'string', description: 'provider:model' },
  service: TEXT,
  started_at: TIME,
  duration_ms: { type: 'number' },
  stop_reason: TEXT,
  iterations: COUNT,
  tool_calls: COUNT,
  prompt_tokens: COUNT,
  completion_tokens: COUNT,
  cost: { type: ['number', 'null'] },
  error: { type: ['string', 'null'] },
  question: { type: 'string', description: 'The first 2,000 characters; empty if contents are not stored.' },
  answer: { type: 'string', description: 'The first 2,000 characters; empty if contents are not stored.' },
}

const STEP = {
  type: { type: 'string', enum: ['model', 'tool'] },
  iteration: COUNT,
  started_at: TIME,
  duration_ms: { type: 'number' },
  finish_reason: { type: 'string', description: 'Model steps only, like text and tool_calls.' },
  text: TEXT,
  tool_calls: COUNT,
  prompt_tokens: { ...COUNT, description: 'Absent if the provider does not report usage.' },
  completion_tokens: COUNT,
  cost: { type: 'number', description: 'Absent if the prices of the model are unknown.' },
  tool: { type: 'string', description: 'Tool steps only, like params and result.' },
  params: {},
  result: {},
  recovered: { type: 'boolean', description: 'True for a call that the model printed as text.' },
}

const RUN_ID = pathParameter('id', 200)
const RUN_QUERY = exactly(ONE_TENANT_QUERY)
const MODEL_ID = { type: 'string', minLength: 1, maxLength: 300 }

const RUNS_QUERY = exactly({
  ...ONE_TENANT_QUERY,
  model: { ...MODEL_ID, description: 'provider:model' },
  stop_reason: STOP_REASON,
  limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
  cursor: { type: 'string', minLength: 1, maxLength: 1_000, description: '`next` of the previous page.' },
})

const RUNS_SCHEMA = object({
  runs: list(LISTED),
  next: { type: 'string', description: 'The cursor of the next page; absent on the last.' },
})

const RUN_SCHEMA = object({ ...LISTED, steps: list(STEP), gate: GATE })

const REPLAY_BODY = {
  ...exactly({
    model: {
      ...MODEL_ID,
      description:
        'provider:model. This model answers, and its calls get the recorded results. Default: the recorded responses are replayed, without a model.',
    },
  }),
  type: ['object', 'null'],
}

const REPLAYED_SCHEMA = object({
  same: {
    type: 'boolean',
    description: 'Whether the replay matches the run; with a model, whether it made the same calls.',
  },
  model: { type: ['string', 'null'], description: 'The model that answered; null if none did.' },
  difference: { type: ['string', 'null'], description: 'The first difference.' },
  answer: { type: ['object', 'null'], additionalProperties: true, description: 'Null if the replay was aborted.' },
})

interface RunsQuery {
  readonly tenant?: string
  readonly model?: string
  readonly stop_reason?: string
  readonly limit: number
  readonly cursor?: string
}

interface OneRun {
  Params: { id: string }
  Querystring: { tenant?: string }
}

/** Recorded runs. */
export function runRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { storage } = installation

  const storedRun = async (request: FastifyRequest<OneRun>): Promise<StoredRun> => {
    const { id } = request.params
    const tenant = oneTenantAsked(request as FastifyRequest, request.query.tenant, 'Runs')
    await settleRecords(installation)
    const run = await storage.runs.get(tenant, id)
    if (run === undefined) throw new HttpProblem(404, `Run '${id}' not found`)
    return run
  }

  app.get<{ Querystring: RunsQuery }>(
    '/api/runs',
    route('observe', 'runs', 'Lists the runs of a tenant, newest first, without their steps', {
      querystring: RUNS_QUERY,
      response: { 200: RUNS_SCHEMA },
    }),
    async (request) => {
      const { tenant: asked, stop_reason: stopReason, ...query } = request.query
      const tenant = oneTenantAsked(request, asked, 'Runs')
      await settleRecords(installation)
      return storage.runs.list({ ...query, tenant, stopReason })
    },
  )

  app.get<OneRun>(
    '/api/runs/:id',
    route('observe', 'runs', 'Returns a run with all its model and tool steps', {
      params: RUN_ID,
      querystring: RUN_QUERY,
      response: { 200: RUN_SCHEMA },
    }),
    (request) => storedRun(request),
  )

  app.get<OneRun & { Querystring: { as?: 'case' } }>(
    '/api/runs/:id/cassette',
    route('observe', 'runs', 'Returns a run as a cassette to replay, or as a test case for models', {
      params: RUN_ID,
      querystring: exactly({
        ...ONE_TENANT_QUERY,
        as: { type: 'string', enum: ['case'], description: 'A test case for a suite instead of a cassette.' },
      }),
      response: { 200: { type: 'object', additionalProperties: true } },
    }),
    async (request) => {
      const cassette = cassetteOf(await storedRun(request))
      return request.query.as === 'case' ? caseOf(cassette) : cassette
    },
  )

  app.post<OneRun & { Body: { model?: string } | null }>(
    '/api/runs/:id/replay',
    route('observe', 'runs', 'Replays a run without running tools; a model in the body answers again', {
      params: RUN_ID,
      querystring: RUN_QUERY,
      body: REPLAY_BODY,
      response: { 200: REPLAYED_SCHEMA },
    }),
    async (request, reply) => {
      const { model } = request.body ?? {}
      if (model !== undefined && !request.caller.scopes.has('chat')) {
        throw new HttpProblem(403, "Asking a model needs the scope 'chat'")
      }
      const cassette = cassetteOf(await storedRun(request))
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

/** Without a model the recorded responses are replayed strictly. */
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

/** Answers 409 if the run lacks something that a cassette or a case needs. */
function orConflict<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (error instanceof CassetteError) throw new HttpProblem(409, error.message)
    throw error
  }
}
