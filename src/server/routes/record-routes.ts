import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Caller, type Callers, mayRead } from '../../app/callers/callers.ts'
import { PREVIEW_SOURCE, parametersPreview } from '../../app/payloads.ts'
import { Cancellation } from '../../core/cancellation.ts'
import { type AuditColumn, auditColumns, COLUMN_TYPES } from '../../core/records/audit-columns.ts'
import type { AuditFilter, AuditPageRow, AuditRow } from '../../core/storage/ledger.ts'
import type { RunStore, StoredRun } from '../../core/storage/run-store.ts'
import { TOOL_ERRORS } from '../../core/tool-result.ts'
import type { ModelCatalogue } from '../../models/model-catalogue.ts'
import { UnknownModelError } from '../../models/model-error.ts'
import { type Cassette, CassetteError, cassetteCase, runCassette } from '../../validation/cassettes/cassette.ts'
import { type ReplayOptions, replayCassette } from '../../validation/cassettes/replay-cassette.ts'
import type { FileCase } from '../../validation/suites/suite.ts'
import { GATE, STOP_REASON } from '../chat/chat-routes.ts'
import { durableRunOf, type OneRun, RUN_ID, RUN_QUERY, runNotFound } from '../chat/durable-run-routes.ts'
import { keyEnded } from '../http/authenticator.ts'
import { ONE_TENANT_QUERY, oneTenantAsked, TENANT_QUERY, tenantAsked } from '../http/context.ts'
import { HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, list, object, route, TEXT, TIME } from '../http/route.ts'
import type { AgentRun, ListedCall, RunView, ShownRow } from '../http/views.ts'
import { auditCsv, auditJson, type PageOf } from './audit-export.ts'

const ISO = '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2}))?$'
const NAME = { type: 'string', minLength: 1, maxLength: 200 }

/** The time of a query. */
export const TIME_QUERY = {
  from: { type: 'string', pattern: ISO, description: 'Start time, ISO 8601.', examples: ['2026-01-31T12:00:00Z'] },
  to: { type: 'string', pattern: ISO, description: 'End time, exclusive, ISO 8601.', examples: ['2026-02-01'] },
}

const AUDIT_QUERY = {
  type: { enum: ['call', 'event'], description: 'Only calls, or only events. Default: both.' },
  tool: NAME,
  caller: { ...NAME, description: 'The id of an API key, or local.' },
  run_id: NAME,
  outcome: COLUMN_TYPES.outcome.schema,
  error_code: { enum: Object.keys(TOOL_ERRORS) },
  ...TIME_QUERY,
  limit: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
  cursor: { type: 'string', maxLength: 500, description: '`next` of the previous page.' },
  format: { enum: ['csv', 'json'], description: 'Downloads all matching rows as a file.' },
  preview: { enum: ['parameters'], description: 'Adds parameters_preview to calls with stored parameters.' },
}

const columnSchema = ({ type, required, description }: AuditColumn) => {
  const { schema } = COLUMN_TYPES[type]
  return {
    ...schema,
    ...('type' in schema && !required && { type: [schema.type, 'null'] }),
    ...(description !== undefined && { description }),
  }
}

export const SHOWN_COLUMNS = {
  id: TEXT,
  time: TIME,
  ...Object.fromEntries(auditColumns.map((column) => [column.shown, columnSchema(column)])),
  hash: { type: 'string', description: 'The hash of this row and the previous one in its chain.' },
  caller_name: { type: ['string', 'null'], description: 'The name that the key or user has now. Not in exports.' },
}

export const withName = (row: AuditRow, callers: Callers): ShownRow => ({
  ...row,
  caller_name: row.caller === null ? null : callers.nameOf(row.caller),
})

function listedRow({ payload_start, ...row }: AuditPageRow, callers: Callers): ListedCall {
  const preview = payload_start === undefined ? undefined : parametersPreview(payload_start)
  return { ...withName(row, callers), ...(preview !== undefined && { parameters_preview: preview }) }
}

const AUDIT_PAGE = object(
  {
    rows: list({
      ...SHOWN_COLUMNS,
      parameters_preview: {
        type: 'string',
        description:
          'The stored parameters of the call on one line, without secrets, up to 120 characters. With `preview=parameters` only, and not in exports. Absent if they are not stored.',
      },
    }),
    next: { type: 'string', description: 'The cursor of the next page; absent on the last.' },
  },
  'One page',
)

interface AuditQuery {
  readonly type?: 'call' | 'event'
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
  readonly preview?: 'parameters'
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
    route('observe', 'audit', 'Lists calls and events, newest first, or downloads all that match', {
      querystring: exactly({ ...AUDIT_QUERY, ...TENANT_QUERY }),
      response: { 200: AUDIT_PAGE },
    }),
    async (request, reply) => {
      const { query } = request
      const filter = filterOf(query, tenantAsked(request, query.tenant))
      await installation.settle()
      if (query.format === undefined) {
        const payloadCharacters = query.preview === 'parameters' ? PREVIEW_SOURCE : undefined
        const page = await ledger.audit({ ...filter, payloadCharacters })
        return { ...page, rows: page.rows.map((row) => listedRow(row, installation.callers)) }
      }
      const { type, write } = EXPORTS[query.format]
      const pageOf: PageOf = (cursor) => {
        if (!installation.callers.isValid(request.caller.id)) throw keyEnded()
        return ledger.audit({ ...filter, limit: 1_000, ...cursor })
      }
      const day = new Date(installation.clock.wall()).toISOString().slice(0, 10)
      return reply
        .type(type)
        .header('content-disposition', `attachment; filename="audit-${day}.${query.format}"`)
        .send(Readable.from(write(pageOf)))
    },
  )
}

function filterOf(query: AuditQuery, tenant: string | undefined): AuditFilter {
  const { run_id: runId, error_code: errorCode, type, tool, caller, outcome, limit, cursor } = query
  const [from, to] = [timeOf(query, 'from'), timeOf(query, 'to')]
  return { tenant, type, tool, caller, runId, outcome, errorCode, from, to, limit, cursor }
}

export function timeOf(
  query: { readonly from?: string; readonly to?: string },
  name: 'from' | 'to',
): number | undefined {
  const text = query[name]
  if (text === undefined) return undefined
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return time
  throw new HttpProblem(400, 'The request is not valid', `${name}=${text} is not a valid time`)
}

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
  agent: { type: 'string', description: 'The tool that it is the run of, if that is an agent.' },
  mocked: { type: 'boolean', description: 'True if no tool ran: the calls got mock results.' },
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

const MODEL_ID = { type: 'string', minLength: 1, maxLength: 300 }

const RUNS_QUERY = exactly({
  ...ONE_TENANT_QUERY,
  status: {
    enum: ['open'],
    description: 'Only durable runs that run or wait, on one page. `tenant`, `model`, `caller` and `limit` apply.',
  },
  model: { ...MODEL_ID, description: 'provider:model' },
  stop_reason: STOP_REASON,
  tool: { ...NAME, description: 'Only runs that called this tool.' },
  caller: { ...NAME, maxLength: 400, description: 'The id of the API key or the user.' },
  rating: { enum: ['good', 'bad'], description: 'Only runs that somebody has rated so.' },
  ...TIME_QUERY,
  limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
  cursor: { type: 'string', minLength: 1, maxLength: 1_000, description: '`next` of the previous page.' },
})

const STATUS = {
  type: 'string',
  enum: ['running', 'waiting', 'finished', 'failed', 'cancelled'],
  description: 'For durable runs. One that has not ended has the figures of its stored steps.',
}

const RUNS_SCHEMA = object({
  runs: list({
    ...LISTED,
    status: STATUS,
    ratings: { ...object({ good: COUNT, bad: COUNT }), description: 'How people rate it; absent if nobody does.' },
  }),
  next: { type: 'string', description: 'The cursor of the next page; absent on the last.' },
})

const RUN_SCHEMA = object({
  ...LISTED,
  status: STATUS,
  steps: list(STEP),
  gate: GATE,
  parent_run: { ...TEXT, description: 'The run that called this one, if it is the run of an agent.' },
  agents: {
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    description: 'The runs of agents that it called, each with `agents` of its own.',
  },
})

/** More are left out. */
const MAX_AGENT_RUNS = 100

/** The runs of agents below a run, as a tree. */
async function agentRuns(
  runs: RunStore,
  tenant: string,
  id: string,
  room = { left: MAX_AGENT_RUNS },
): Promise<AgentRun[]> {
  const children = await runs.children(tenant, id, room.left)
  if (children.length === 0) return []
  room.left -= children.length
  const tree: AgentRun[] = []
  for (const { question: _question, answer: _answer, ...child } of children) {
    const agents = room.left > 0 ? await agentRuns(runs, tenant, child.id, room) : []
    tree.push({ ...child, agents })
  }
  return tree
}

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
  readonly status?: 'open'
  readonly tenant?: string
  readonly model?: string
  readonly stop_reason?: string
  readonly tool?: string
  readonly caller?: string
  readonly rating?: 'good' | 'bad'
  readonly from?: string
  readonly to?: string
  readonly limit: number
  readonly cursor?: string
}

/** Recorded runs. */
export function runRoutes(app: FastifyInstance): void {
  const { installation, traffic } = app
  const { storage } = installation

  const storedRun = async (request: FastifyRequest<OneRun>): Promise<StoredRun> => {
    const tenant = oneTenantAsked(request as FastifyRequest, request.query.tenant, 'Runs')
    await installation.settle()
    const run = await storage.runs.get(tenant, request.params.id)
    if (run === undefined || !mayRead(request.caller, run)) throw runNotFound(request)
    return run
  }

  const withAgents = async (run: StoredRun): Promise<RunView> => {
    const agents = await agentRuns(storage.runs, run.tenant, run.id)
    return agents.length === 0 ? run : { ...run, agents }
  }

  app.get<{ Querystring: RunsQuery }>(
    '/api/runs',
    route('observe', 'runs', 'Lists the runs of a tenant, newest first, without their steps', {
      querystring: RUNS_QUERY,
      response: { 200: RUNS_SCHEMA },
    }),
    async (request) => {
      const { tenant: asked, stop_reason: stopReason, status, ...query } = request.query
      const tenant = oneTenantAsked(request, asked, 'Runs')
      if (status === 'open') {
        const { model, caller, limit } = query
        return { runs: await installation.durableRuns.open({ tenant, model, caller, limit }) }
      }
      await installation.settle()
      const [from, to] = [timeOf(query, 'from'), timeOf(query, 'to')]
      return storage.runs.list({ ...query, tenant, stopReason, from, to })
    },
  )

  app.get<OneRun>(
    '/api/runs/:id',
    route(['chat', 'observe'], 'runs', 'Returns a run with all its model and tool steps', {
      params: RUN_ID,
      querystring: RUN_QUERY,
      response: { 200: RUN_SCHEMA },
    }),
    async (request) => {
      const durable = await durableRunOf(request)
      if (durable === undefined) return withAgents(await storedRun(request))
      await installation.settle()
      const { tenant, id, status } = durable
      const record = await storage.runs.get(tenant, id)
      return record === undefined ? installation.durableRuns.view(durable) : { ...(await withAgents(record)), status }
    },
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
      const { callers, manager, budgets } = installation
      const options = replayOptions(await manager.getModels(), request.caller, model)
      const context = callers.context(request.caller, 'rest')
      // A model that answers again costs as much as in a run.
      if (model !== undefined) await manager.getExecutor().count(context)
      const cancellation = new Cancellation()
      const end = traffic.begin(cancellation, request.caller.id)
      if (reply.raw.destroyed) cancellation.abort(undefined)
      else reply.raw.once('close', () => cancellation.abort(undefined))
      const by = model ?? null
      try {
        const { answer, unused } = await replayCassette(cassette, {
          ...options,
          budgets,
          keyId: context.keyId,
          tenant: request.caller.tenant,
          signal: cancellation.signal,
        })
        const difference = (model && answer.error) ?? (unused > 0 ? notMade(unused) : null)
        return { same: difference === null, model: by, difference, answer }
      } catch (error) {
        if (!(error instanceof CassetteError)) throw error
        return { same: false, model: by, difference: error.message, answer: null }
      } finally {
        end()
      }
    },
  )
}

/** Without a model the recorded responses are replayed strictly. */
function replayOptions(catalogue: ModelCatalogue, { models }: Caller, model: string | undefined): ReplayOptions {
  try {
    if (model === undefined) return {}
    return { mode: 'loose', model: catalogue.get(model, models), prices: catalogue.info(model).prices }
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
