const COUNT = {
  type: 'object',
  properties: { trials: { type: 'integer' }, successes: { type: 'integer' } },
} as const

export const TOOL_USE_QUERY = {
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

export const TOOL_USE_SCHEMA = {
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
