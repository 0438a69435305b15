import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RunFilter, StoredRun } from '../../core/storage/run-store.ts'
import type { ModelCatalogue } from '../../models/catalogue/model-catalogue.ts'
import { UnknownModelError } from '../../models/catalogue/unknown-model-error.ts'
import { type Cassette, CassetteError, runCassette } from '../../validation/cassettes/cassette.ts'
import { cassetteCase } from '../../validation/cassettes/cassette-case.ts'
import { type ReplayOptions, replayCassette } from '../../validation/cassettes/replay-cassette.ts'
import type { FileCase } from '../../validation/suites/suite.ts'
import { settleRecords, tenantAsked } from '../http/context.ts'
import { HttpProblem } from '../http/problem.ts'
import { GATE, STOP_REASON } from './chat-routes.ts'

/** Why a run ended. */
const TENANT_QUERY = {
  tenant: {
    type: 'string',
    minLength: 1,
    maxLength: 64,
    description: "Another tenant: only with the scope 'installation'. Your own if not given.",
  },
} as const

const LISTED = {
  id: { type: 'string' },
  tenant: { type: 'string' },
  caller: { type: ['string', 'null'], description: 'The id of the key that asked.' },
  model: { type: 'string', description: 'provider:model' },
  service: { type: 'string' },
  started_at: { type: 'string', format: 'date-time' },
  duration_ms: { type: 'number' },
  stop_reason: { type: 'string' },
  iterations: { type: 'integer' },
  tool_calls: { type: 'integer' },
  prompt_tokens: { type: 'integer' },
  completion_tokens: { type: 'integer' },
  cost: { type: ['number', 'null'] },
  error: { type: ['string', 'null'] },
  question: { type: 'string', description: 'Its first 2,000 characters; empty if contents are not stored.' },
  answer: { type: 'string', description: 'Likewise.' },
} as const

const STEP = {
  type: 'object',
  additionalProperties: true,
  properties: {
    type: { type: 'string', enum: ['model', 'tool'] },
    iteration: { type: 'integer' },
    started_at: { type: 'string', format: 'date-time' },
    duration_ms: { type: 'number' },
    finish_reason: { type: 'string', description: 'Of a turn of the model, as text and tool_calls.' },
    text: { type: 'string' },
    tool_calls: { type: 'integer' },
    prompt_tokens: { type: 'integer', description: 'What the turn used up, where its provider says so.' },
    completion_tokens: { type: 'integer' },
    cost: { type: 'number', description: 'Of the turn, where the prices of the model are known.' },
    tool: { type: 'string', description: 'Of a call, as params and result.' },
    params: {},
    result: {},
    recovered: { type: 'boolean', description: 'True for a call that the model printed as text.' },
  },
} as const

const RUN_QUERY = { type: 'object', additionalProperties: false, properties: TENANT_QUERY } as const

const CASSETTE_QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...TENANT_QUERY,
    as: { type: 'string', enum: ['case'], description: 'A case for a suite, instead of a cassette.' },
  },
} as const

const RUNS_QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...TENANT_QUERY,
    model: { type: 'string', minLength: 1, maxLength: 300, description: 'provider:model' },
    stop_reason: STOP_REASON,
    limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
    cursor: { type: 'string', minLength: 1, maxLength: 1_000, description: 'The next of the page before.' },
  },
} as const

const RUNS_SCHEMA = {
  type: 'object',
  properties: {
    runs: { type: 'array', items: { type: 'object', properties: LISTED } },
    next: { type: 'string', description: 'The cursor of the next page, if there is one.' },
  },
} as const

const RUN_SCHEMA = {
  type: 'object',
  properties: { ...LISTED, steps: { type: 'array', items: STEP }, gate: GATE },
} as const

/** How a run is replayed. */
const REPLAY_BODY = {
  type: ['object', 'null'],
  additionalProperties: false,
  properties: {
    model: {
      type: 'string',
      minLength: 1,
      maxLength: 300,
      description:
        'provider:model: it is asked, and its calls get what they got in the run. Absent: it answers as it did.',
    },
  },
} as const

const REPLAYED_SCHEMA = {
  type: 'object',
  properties: {
    same: {
      type: 'boolean',
      description: 'Whether it went the same way; with a model: whether it made the same calls.',
    },
    model: { type: ['string', 'null'], description: 'The model that was asked; null if none was.' },
    difference: { type: ['string', 'null'], description: 'Where it first went another way.' },
    answer: { type: ['object', 'null'], additionalProperties: true, description: 'Absent where it was broken off.' },
  },
} as const

interface RunsQuery {
  readonly tenant?: string
  readonly model?: string
  readonly stop_reason?: string
  readonly limit: number
  readonly cursor?: string
}

/** What has been asked and answered. */
export function runRoutes(app: FastifyInstance): void {
  const { installation } = app
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

/** Runs are stored per tenant. */
function oneTenant(request: FastifyRequest, asked: string | undefined): string {
  const tenant = tenantAsked(request, asked)
  if (tenant === undefined)
    throw new HttpProblem(400, 'Runs are listed for one tenant at a time', 'send its name as ?tenant=')
  return tenant
}
