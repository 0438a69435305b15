import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../config/callers/caller.ts'
import type { ModelCatalogue } from '../../models/catalogue/model-catalogue.ts'
import type { ModelInfo } from '../../models/catalogue/model-info.ts'
import { MODEL_SCORES_SCHEMA } from '../../models/model-scores.ts'
import { modelValidation } from '../../validation/model-validation.ts'
import { ModelValidationTracker } from '../../validation/model-validation-tracker.ts'
import type { Service } from '../service.ts'

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
export function modelRoutes(app: FastifyInstance, { installation }: Service): void {
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
