const WINDOW = { type: 'string', examples: ['24h'] }
const MS = { type: 'number', description: 'Milliseconds.' }
const COUNT = { type: 'integer' }
const COUNTS = { type: 'object', additionalProperties: COUNT }

const FIGURES = {
  total: COUNT,
  success_rate: { type: 'number', description: '0 to 1.' },
  avg_ms: MS,
  p50_ms: MS,
  p95_ms: MS,
  p99_ms: MS,
  errors: { ...COUNTS, description: 'How many calls failed, by code.', examples: [{ TIMEOUT: 2 }] },
}

export const EXECUTION_METRICS = {
  description: 'The figures',
  type: 'object',
  properties: {
    window: WINDOW,
    ...FIGURES,
    tools: { type: 'object', additionalProperties: { type: 'object', properties: FIGURES } },
  },
}

const TIMES = { type: 'object', properties: { avg_ms: MS, p50_ms: MS, p95_ms: MS, p99_ms: MS } }

const RUN_FIGURES = {
  runs: COUNT,
  runs_with_tools: COUNT,
  tool_calls: COUNT,
  avg_iterations: { type: 'number' },
  max_iterations: COUNT,
  limit_hits: COUNTS,
  stop_reasons: COUNTS,
  with_tools: TIMES,
  without_tools: TIMES,
  prompt_tokens: COUNT,
  completion_tokens: COUNT,
  cost: { type: ['number', 'null'] },
}

export const MODEL_METRICS = {
  description: 'The figures of each model',
  type: 'object',
  properties: {
    window: WINDOW,
    models: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: {
          ...RUN_FIGURES,
          selection_accuracy: {
            type: ['number', 'null'],
            description: 'How many of its tests in the window the model passed; null where there were none.',
          },
          tools: {
            type: 'object',
            additionalProperties: { type: 'object', properties: { calls: COUNT, failed: COUNT } },
          },
        },
      },
    },
    tenants: {
      type: 'object',
      description: 'Only where all tenants were asked for.',
      additionalProperties: {
        type: 'object',
        properties: { calls: COUNT, runs: COUNT, cost: { type: ['number', 'null'] } },
      },
    },
  },
}

export const PARAMETER_SETS = {
  description: 'The most common first',
  type: 'object',
  properties: {
    window: WINDOW,
    tool: { type: 'string' },
    parameter_sets: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          params_hash: { type: 'string', description: "Keyed with the installation's own key." },
          calls: COUNT,
        },
      },
    },
  },
}

/** The stretches of a window, each with these figures. */
const series = (of: 'tool' | 'model', figures: object) => ({
  description: 'The oldest stretch first, none left out',
  type: 'object',
  properties: {
    window: WINDOW,
    [of]: { type: ['string', 'null'], description: `Null: every ${of}.` },
    bucket_ms: { ...COUNT, description: 'How long a stretch is: a minute, an hour, or six hours.' },
    buckets: {
      type: 'array',
      items: {
        type: 'object',
        properties: { start: { type: 'string', format: 'date-time', description: 'When it begins.' }, ...figures },
      },
    },
  },
})

export const CALL_SERIES = series('tool', FIGURES)
export const RUN_SERIES = series('model', RUN_FIGURES)
