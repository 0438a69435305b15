import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../app/callers/callers.ts'
import { valuesInWords } from '../../core/schema/problem-words.ts'
import { suggest } from '../../core/suggest.ts'
import { UnknownModelError } from '../../models/model-error.ts'
import type { ModelInfo } from '../../models/model-info.ts'
import { MODEL_SCORES_SCHEMA } from '../../models/model-scores.ts'
import { ModelValidationTracker, modelValidation } from '../../validation/model-validation.ts'
import type { ValidationReport } from '../../validation/reports/build-report.ts'
import { compareReports } from '../../validation/reports/compare-reports.ts'
import { currentTool, schemaHash } from '../../validation/tool-use/tool-use.ts'
import { effectiveGate } from '../../validation/tool-use/tool-use-gate.ts'
import { ONE_TENANT_QUERY, oneTenantAsked } from '../http/context.ts'
import { streamJob } from '../http/event-stream.ts'
import { found, HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, JOB_ID, list, object, route, TEXT, TIME, TIME_OR_NULL } from '../http/route.ts'
import type { SuiteRequest } from '../http/views.ts'
import { isWritable, knownSuites } from './known-suites.ts'
import { SuiteRuns } from './suite-runs.ts'

const AMOUNT = { type: 'integer', minimum: 0 }

const SUITES_SCHEMA = object(
  {
    suites: list({
      id: { type: 'string', examples: ['generated', 'weather.json', 'bfcl:simple_python'] },
      kind: { enum: ['generated', 'file', 'saved', 'bfcl'] },
      name: { type: 'string', description: 'The name in reports.' },
      cases: { ...AMOUNT, description: 'For files only: other suites are created when they run.' },
      remark: { type: 'string', description: 'A note to show next to the results.' },
      problem: { type: 'string', description: 'Why the suite cannot run, and what to do.' },
    }),
    folder: object({
      name: { type: 'string', description: 'A folder in the data folder: its .json and .jsonl files are suites.' },
      writable: { type: 'boolean', description: 'Whether the server can write to it.' },
    }),
  },
  'The suites',
)

const names = (maxItems: number) => ({
  type: 'array',
  minItems: 1,
  maxItems,
  uniqueItems: true,
  items: { type: 'string', minLength: 1, maxLength: 300 },
})

const SUITE_REQUEST = {
  type: 'object',
  required: ['models', 'suites'],
  additionalProperties: false,
  properties: {
    models: { ...names(10), examples: [['openai:gpt-4o']] },
    suites: { ...names(20), examples: [['generated']], description: 'Ids from GET /api/suites.' },
    repeat: { type: 'integer', minimum: 1, maximum: 100, description: 'How often each case runs. Default: 1.' },
    limit: { type: 'integer', minimum: 1, maximum: 10_000, description: 'Only the first cases of each suite.' },
    budget: {
      type: 'number',
      minimum: 0,
      maximum: 1_000,
      description: 'The maximum cost of all models together, in costs.currency. Default: 1.',
    },
    budget_tokens: { type: 'integer', minimum: 1, description: 'The maximum number of tokens of all models together.' },
    fresh: { type: 'boolean', description: 'Start over instead of reusing the trials of an earlier identical run.' },
  },
}

const ESTIMATE_SCHEMA = object(
  {
    trials: AMOUNT,
    made_before: { ...AMOUNT, description: 'Trials of an earlier identical run, which are reused.' },
    tokens: AMOUNT,
    cost: { type: ['number', 'null'], description: 'In costs.currency; null if no model has a price.' },
    free: { type: 'boolean', description: 'Whether all models are free.' },
    unpriced: { type: 'array', items: TEXT, description: 'The models without a known price.' },
    most: object({ cost: { type: 'number' }, tokens: { type: ['integer', 'null'] } }, 'The limits of the run.'),
  },
  'The estimate',
)

const LISTED = {
  id: TEXT,
  state: { enum: ['queued', 'running', 'done', 'cancelled'] },
  caller: { type: ['string', 'null'], description: 'The id of the API key that started it.' },
  created_at: TIME_OR_NULL,
  started_at: TIME_OR_NULL,
  ended_at: TIME_OR_NULL,
  request: SUITE_REQUEST,
  progress: {
    type: ['object', 'null'],
    description: 'Planned, reused and completed trials, usage, the state of each model and the latest trials.',
    additionalProperties: true,
  },
  error: { type: ['string', 'null'], description: 'Why the run failed; null if it did not.' },
}

const SUITE_RUN_SCHEMA = object(
  {
    ...LISTED,
    report: {
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'The report, as from toolyard validate --json; null until the run has ended.',
    },
  },
  'The run',
)

const RUN_ID = { type: 'string', pattern: '^[\\w-]{1,64}$' }

const COMPARED_SIDE = object({
  passed: AMOUNT,
  judged: AMOUNT,
  rate: { type: ['number', 'null'] },
  models: { type: 'array', items: TEXT },
  tokens: AMOUNT,
  cost: { type: ['number', 'null'] },
})

const COMPARISON_SCHEMA = object(
  {
    baseline: COMPARED_SIDE,
    contender: COMPARED_SIDE,
    difference: {
      type: ['object', 'null'],
      properties: { rate: { type: 'number' }, low: { type: 'number' }, high: { type: 'number' } },
      description: 'How much higher the rate of the contender is, with a 95 % confidence interval.',
    },
    verdict: { enum: ['better', 'worse', 'no_difference', 'nothing_to_compare'] },
    sentence: TEXT,
    counts: { type: 'object', additionalProperties: AMOUNT },
    changed_suites: { type: 'array', items: TEXT, description: 'Suites whose cases have changed between the runs.' },
    cases: {
      type: 'array',
      items: { type: 'object', additionalProperties: true },
      description: 'Each case with both outcomes and `change`: better, worse, same, or null.',
    },
  },
  'The comparison',
)

/** Suites, and runs of models with them. */
export function suiteRoutes(app: FastifyInstance): void {
  const { installation, jobs, streams } = app
  const runs = new SuiteRuns(installation, jobs)
  const orNotFound = <Run>(run: Run | undefined, id: string): Run =>
    found(run, `Run '${id}'`, 'GET /api/validations/runs lists them')

  app.get(
    '/api/suites',
    route('validate', 'models', 'Lists the suites', { response: { 200: SUITES_SCHEMA } }),
    async ({ caller }) => ({
      suites: await knownSuites(installation, caller),
      folder: { name: 'suites', writable: await isWritable(installation) },
    }),
  )

  app.post<{ Body: SuiteRequest }>(
    '/api/validations/estimate',
    route('validate', 'models', 'Estimates the tokens and cost of a run without starting it', {
      body: SUITE_REQUEST,
      response: { 200: ESTIMATE_SCHEMA },
    }),
    ({ caller, body }) => runs.estimate(caller, body),
  )

  app.post<{ Body: SuiteRequest }>(
    '/api/validations/runs',
    route('validate', 'models', 'Runs suites with models, like toolyard validate; one run per tenant at a time', {
      body: SUITE_REQUEST,
      response: { 202: object(LISTED, 'The run') },
    }),
    async ({ caller, body }, reply) => {
      const run = await runs.start(caller, body)
      return reply.code(202).header('location', `/api/validations/runs/${run.id}`).send(run)
    },
  )

  app.get(
    '/api/validations/runs',
    route('observe', 'models', 'Lists the newest suite runs, without their reports', {
      response: { 200: object({ runs: list(LISTED) }, 'The runs') },
    }),
    async ({ caller }) => ({ runs: await runs.list(caller) }),
  )

  app.get<{ Params: { id: string } }>(
    '/api/validations/runs/:id',
    route('observe', 'models', 'Returns a suite run with its report, or streams its progress as Server-Sent Events', {
      params: JOB_ID,
      response: { 200: SUITE_RUN_SCHEMA },
    }),
    async (request, reply) => {
      const { caller, params } = request
      const run = orNotFound(await runs.get(caller, params.id), params.id)
      const stream = streams.open(request, reply)
      if (stream === undefined) return run
      await streamJob(stream, runs.events(caller, params.id, stream.signal), params.id, installation.log)
      return reply
    },
  )

  app.get<{ Params: { id: string; contender: string } }>(
    '/api/validations/runs/:id/compare/:contender',
    route('observe', 'models', 'Compares two suite runs, case by case: the first one is the baseline', {
      params: object({ id: RUN_ID, contender: RUN_ID }),
      response: { 200: COMPARISON_SCHEMA },
    }),
    async ({ caller, params }) => {
      const [baseline, contender] = await Promise.all(
        [params.id, params.contender].map(async (id) => {
          const { report } = orNotFound(await runs.get(caller, id), id)
          if (report !== null) return report
          throw new HttpProblem(409, `Run '${id}' has no report`, 'wait until it has ended, or choose another one')
        }),
      )
      return compareReports(baseline as ValidationReport, contender as ValidationReport)
    },
  )

  app.delete<{ Params: { id: string } }>(
    '/api/validations/runs/:id',
    route('validate', 'models', 'Cancels a suite run; completed trials are kept', {
      params: JOB_ID,
      response: { 200: SUITE_RUN_SCHEMA },
    }),
    async ({ caller, params }) => orNotFound(await runs.cancel(caller, params.id), params.id),
  )
}

const RATED = {
  trials: COUNT,
  successes: COUNT,
  rate: { type: 'number' },
  lower_bound: { type: 'number', description: 'The lower bound of the true rate, with 95 % confidence.' },
}

const TOOL_USE_QUERY = exactly({
  ...ONE_TENANT_QUERY,
  model: { type: 'string', minLength: 1, maxLength: 300, description: 'provider:model' },
  tool: { type: 'string', minLength: 1, maxLength: 200 },
})

const FAILURE = {
  timestamp: TIME,
  source: { type: 'string', enum: ['suite', 'run'] },
  kind: TEXT,
  message: TEXT,
  expected: TEXT,
  actual: TEXT,
  run_id: { type: 'string', description: 'The run: GET /api/runs/{id}.' },
}

const TOOL_USE_SCHEMA = object({
  gate: object(
    {
      gate: { type: 'string', enum: ['off', 'warn', 'hide'] },
      minimum_trials: COUNT,
      threshold: { type: 'number' },
    },
    'The validation gate: what happens to tools that a model fails with.',
  ),
  tool_use: list({
    model_id: TEXT,
    tool: { type: 'string', description: '(unknown) for all tools that the model made up.' },
    schema_hash: { type: 'string', description: 'The hash of the definition that the model was shown.' },
    schema: {
      type: 'string',
      enum: ['current', 'changed', 'gone'],
      description: 'Whether that is the current definition of the tool.',
    },
    ...RATED,
    last_used: TIME,
    suite: object(RATED, 'Judged cases: a success is the right call.'),
    run: object(RATED, 'Real calls: a success is a well-formed call, right or wrong.'),
    failure_kinds: { type: 'object', additionalProperties: COUNT },
    failures: list(FAILURE, 'The last 20, newest last.'),
  }),
})

interface ToolUseQuery {
  readonly tenant?: string
  readonly model?: string
  readonly tool?: string
}

/** How well models use tools. */
export function validationRoutes(app: FastifyInstance): void {
  const { installation } = app
  app.get<{ Querystring: ToolUseQuery }>(
    '/api/validations/tools',
    route('observe', 'models', 'Returns how well each model uses each tool; with model and tool, also the failures', {
      querystring: TOOL_USE_QUERY,
      response: { 200: TOOL_USE_SCHEMA },
    }),
    async (request) => {
      const { model, tool } = request.query
      const tenant = oneTenantAsked(request, request.query.tenant, 'Tools')
      const find = currentTool(installation.manager.getRegistry())
      const all = await installation.toolUse.list(tenant, (name) => {
        const current = find(name)
        return current && schemaHash(current)
      })
      const found = all.filter(
        (use) => (model === undefined || use.model_id === model) && (tool === undefined || use.tool === tool),
      )
      const whole = model !== undefined && tool !== undefined
      return {
        gate: effectiveGate(installation.config.validation),
        tool_use: found.map(({ failures, ...use }) => (whole ? { ...use, failures } : use)),
      }
    },
  )
}

const VALIDATION = object(
  {
    model_id: TEXT,
    tested: { type: 'boolean' },
    validated: { type: 'boolean' },
    test_count: COUNT,
    success_count: COUNT,
    last_tested: TIME_OR_NULL,
    test_history: list({ timestamp: TIME, success: { type: 'boolean' }, details: {}, error: TEXT }),
  },
  'Test results. A model is validated if it passed at least 80 % of its tests.',
)

interface TestBody {
  readonly model: string
  readonly success: boolean
  readonly details?: unknown
  readonly error?: string
}

/** Models and their test results. */
export function modelRoutes(app: FastifyInstance): void {
  const { installation } = app
  const tracker = ({ tenant }: Caller): ModelValidationTracker => {
    const { storage, clock } = installation
    return new ModelValidationTracker({ store: storage.validations, tenant, clock })
  }

  app.get(
    '/api/models/list',
    route('read', 'models', 'Lists the configured models with their test results', {
      response: { 200: object({ models: { type: 'array', items: MODEL } }, 'The models') },
    }),
    async ({ caller }) => {
      const models = await installation.manager.getModels()
      void models.checkLocal()
      const tested = new Map((await tracker(caller).getAllValidations()).map((record) => [record.model_id, record]))
      return {
        models: await Promise.all(
          models.list(caller.models).map(async ({ id, name, capabilities }) => {
            const scores = await models.scores(id)
            const validation = tested.get(id) ?? untested(id)
            return { id, name, capabilities, ...models.availability(id), ...(scores && { scores }), validation }
          }),
        ),
      }
    },
  )

  app.post<{ Body: TestBody }>(
    '/api/tools/validate',
    route('validate', 'models', 'Records one test of a model and returns its results', {
      body: {
        type: 'object',
        required: ['model', 'success'],
        properties: {
          model: { type: 'string', minLength: 1, maxLength: 256, examples: ['openai:gpt-4o'] },
          success: { type: 'boolean' },
          details: { description: 'Any JSON value.' },
          error: { type: 'string', description: 'Why the test failed.' },
        },
      },
      response: { 200: VALIDATION },
    }),
    async ({ caller, body: { model, success, details, error } }) => {
      const models = await installation.manager.getModels()
      await models.requireKnown(model, caller.models).catch((error: unknown) => {
        throw error instanceof UnknownModelError ? unknownModel(error, model, models.list(caller.models)) : error
      })
      return success
        ? tracker(caller).recordSuccess(model, details)
        : tracker(caller).recordFailure(model, error, details)
    },
  )
}

function unknownModel({ message }: UnknownModelError, model: string, known: readonly ModelInfo[]): HttpProblem {
  const ids = known.map(({ id }) => id)
  const [near] = suggest(model, ids)
  return new HttpProblem(400, message, near === undefined ? `known: ${valuesInWords(ids)}` : `did you mean '${near}'?`)
}

const untested = (model_id: string) => modelValidation({ model_id, test_count: 0, success_count: 0, test_history: [] })

const MODEL = object({
  id: { type: 'string', examples: ['openai:gpt-4o'] },
  name: { type: 'string', examples: ['GPT-4o'] },
  capabilities: { type: 'array', items: TEXT, examples: [['function-calling']] },
  available: {
    enum: [false],
    description: 'Present if the model cannot be used: its provider is disabled, or not running.',
  },
  reason: { type: 'string', description: 'Why it cannot be used, and what to do.' },
  validation: VALIDATION,
  scores: MODEL_SCORES_SCHEMA,
})
