import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../app/callers.ts'
import { MODEL_SCORES_SCHEMA } from '../../models/model-scores.ts'
import { ModelValidationTracker, modelValidation } from '../../validation/model-validation.ts'
import { currentTool, schemaHash } from '../../validation/tool-use/tool-use.ts'
import { effectiveGate } from '../../validation/tool-use/tool-use-gate.ts'
import { ONE_TENANT_QUERY, oneTenantAsked } from '../http/context.ts'
import { COUNT, exactly, list, object, route, TEXT, TIME, TIME_OR_NULL } from '../http/route.ts'

const TRIALS = object({ trials: COUNT, successes: COUNT })

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
    trials: COUNT,
    successes: COUNT,
    rate: { type: 'number' },
    lower_bound: { type: 'number', description: 'The lower bound of the true rate, with 95 % confidence.' },
    last_used: TIME,
    suite: TRIALS,
    run: TRIALS,
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
      const tested = new Map((await tracker(caller).getAllValidations()).map((record) => [record.model_id, record]))
      return {
        models: await Promise.all(
          models.list().map(async ({ id, name, capabilities }) => {
            const scores = await models.scores(id)
            const validation = tested.get(id) ?? untested(id)
            return { id, name, capabilities, ...(scores && { scores }), validation }
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
    ({ caller, body: { model, success, details, error } }) =>
      success ? tracker(caller).recordSuccess(model, details) : tracker(caller).recordFailure(model, error, details),
  )
}

const untested = (model_id: string) => modelValidation({ model_id, test_count: 0, success_count: 0, test_history: [] })

const MODEL = object({
  id: { type: 'string', examples: ['openai:gpt-4o'] },
  name: { type: 'string', examples: ['GPT-4o'] },
  capabilities: { type: 'array', items: TEXT, examples: [['function-calling']] },
  validation: VALIDATION,
  scores: MODEL_SCORES_SCHEMA,
})
