import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../config/callers/caller.ts'
import type { ModelCatalogue } from '../../models/catalogue/model-catalogue.ts'
import type { ModelInfo } from '../../models/catalogue/model-info.ts'
import { MODEL_SCORES_SCHEMA } from '../../models/model-scores.ts'
import { modelValidation } from '../../validation/model-validation.ts'
import { ModelValidationTracker } from '../../validation/model-validation-tracker.ts'
import { currentTool, schemaHash } from '../../validation/tool-use/tool-use.ts'
import { effectiveGate } from '../../validation/tool-use/tool-use-gate.ts'
import { tenantAsked } from '../http/context.ts'
import { HttpProblem } from '../http/problem.ts'

const COUNT = {
  type: 'object',
  properties: { trials: { type: 'integer' }, successes: { type: 'integer' } },
} as const

const TOOL_USE_QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    tenant: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      description: "Another tenant: only with the scope 'installation'. Your own if not given.",
    },
    model: { type: 'string', minLength: 1, maxLength: 300, description: 'provider:model' },
    tool: { type: 'string', minLength: 1, maxLength: 200 },
  },
} as const

const FAILURE = {
  type: 'object',
  properties: {
    timestamp: { type: 'string', format: 'date-time' },
    source: { type: 'string', enum: ['suite', 'run'] },
    kind: { type: 'string' },
    message: { type: 'string' },
    expected: { type: 'string' },
    actual: { type: 'string' },
    run_id: { type: 'string', description: 'Where it happened: GET /api/runs/{id}.' },
  },
} as const

const TOOL_USE_SCHEMA = {
  type: 'object',
  properties: {
    gate: {
      type: 'object',
      description: 'What is done about tools that a model fails with.',
      properties: {
        gate: { type: 'string', enum: ['off', 'warn', 'hide'] },
        minimum_trials: { type: 'integer' },
        threshold: { type: 'number' },
      },
    },
    tool_use: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          model_id: { type: 'string' },
          tool: { type: 'string', description: '(unknown) for all tools that the model made up.' },
          schema_hash: { type: 'string', description: 'Names what the model was shown of the tool.' },
          schema: {
            type: 'string',
            enum: ['current', 'changed', 'gone'],
            description: 'Whether that is the tool as it is now.',
          },
          trials: { type: 'integer' },
          successes: { type: 'integer' },
          rate: { type: 'number' },
          lower_bound: { type: 'number', description: 'What the true rate is at least, with 95 % certainty.' },
          last_used: { type: 'string', format: 'date-time' },
          suite: COUNT,
          run: COUNT,
          failure_kinds: { type: 'object', additionalProperties: { type: 'integer' } },
          failures: { type: 'array', items: FAILURE, description: 'The last 20; the newest last.' },
        },
      },
    },
  },
} as const

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
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'How well each model uses each tool; with a model and a tool, each failure too',
        tags: ['models'],
        querystring: TOOL_USE_QUERY,
        response: { 200: TOOL_USE_SCHEMA },
      },
    },
    async (request) => {
      const { model, tool } = request.query
      const tenant = tenantAsked(request, request.query.tenant)
      if (tenant === undefined)
        throw new HttpProblem(400, 'Tools are listed for one tenant at a time', 'send its name as ?tenant=')
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

const VALIDATION = {
  type: 'object',
  description: 'What its tests came to: validated where at least four of five were passed.',
  properties: {
    model_id: { type: 'string' },
    tested: { type: 'boolean' },
    validated: { type: 'boolean' },
    test_count: { type: 'integer' },
    success_count: { type: 'integer' },
    last_tested: { type: ['string', 'null'], format: 'date-time' },
    test_history: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          timestamp: { type: 'string', format: 'date-time' },
          success: { type: 'boolean' },
          details: {},
          error: { type: 'string' },
        },
      },
    },
  },
}

interface TestBody {
  readonly model: string
  readonly success: boolean
  readonly details?: unknown
  readonly error?: string
}

/** The models, and what tests of them have shown. */
export function modelRoutes(app: FastifyInstance): void {
  const { installation } = app
  const tracker = ({ tenant }: Caller): ModelValidationTracker => {
    const { storage, clock } = installation
    return new ModelValidationTracker({ store: storage.validations, tenant, clock })
  }

  app.get(
    '/api/models/list',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'The models, and which of them have shown that they can use tools',
        tags: ['models'],
        response: {
          200: {
            description: 'The models of the configuration',
            type: 'object',
            properties: { models: { type: 'array', items: MODEL } },
          },
        },
      },
    },
    async ({ caller }) => {
      const models = await installation.manager.getModels()
      const tested = new Map((await tracker(caller).getAllValidations()).map((record) => [record.model_id, record]))
      return {
        models: await Promise.all(
          models.list().map(async (model) => ({
            ...(await described(model, models)),
            validation: tested.get(model.id) ?? untested(model.id),
          })),
        ),
      }
    },
  )

  app.post<{ Body: TestBody }>(
    '/api/tools/validate',
    {
      config: { scope: 'validate' },
      schema: {
        summary: 'Records one test of a model, and gives its record',
        tags: ['models'],
        body: {
          type: 'object',
          required: ['model', 'success'],
          properties: {
            model: { type: 'string', minLength: 1, maxLength: 256, examples: ['openai:gpt-4o'] },
            success: { type: 'boolean' },
            details: { description: 'What was tested; any JSON value.' },
            error: { type: 'string', description: 'What went wrong, where it failed.' },
          },
        },
        response: { 200: VALIDATION },
      },
    },
    ({ caller, body: { model, success, details, error } }) =>
      success ? tracker(caller).recordSuccess(model, details) : tracker(caller).recordFailure(model, error, details),
  )
}

/** What can be said of a model before anybody has tested it here. */
async function described({ id, name, capabilities }: ModelInfo, models: ModelCatalogue) {
  const scores = await models.scores(id)
  return { id, name, capabilities, ...(scores && { scores }) }
}

const untested = (model_id: string) => modelValidation({ model_id, test_count: 0, success_count: 0, test_history: [] })

const MODEL = {
  type: 'object',
  properties: {
    id: { type: 'string', examples: ['openai:gpt-4o'] },
    name: { type: 'string', examples: ['GPT-4o'] },
    capabilities: { type: 'array', items: { type: 'string' }, examples: [['function-calling']] },
    validation: VALIDATION,
    scores: MODEL_SCORES_SCHEMA,
  },
}
