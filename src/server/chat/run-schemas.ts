/** Why a run ended. */
export const STOP_REASON = {
  type: 'string',
  enum: [
    'stop',
    'max_iterations',
    'repeated_calls',
    'timeout',
    'budget',
    'length',
    'content_filter',
    'error',
    'cancelled',
  ],
} as const

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
  question: { type: 'string', description: 'Its first 2,000 characters; empty where contents are not kept.' },
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

/** What was decided about tools that the model fails with. */
export const GATE = {
  type: 'array',
  description: 'Which tools the model was not offered, or is known to fail with; absent where there is none.',
  items: {
    type: 'object',
    properties: {
      tool: { type: 'string' },
      decision: { type: 'string', enum: ['warn', 'hide'] },
      trials: { type: 'integer' },
      successes: { type: 'integer' },
      rate: { type: 'number' },
      lower_bound: { type: 'number' },
      threshold: { type: 'number' },
    },
  },
} as const

export const RUN_QUERY = { type: 'object', additionalProperties: false, properties: TENANT_QUERY } as const

export const CASSETTE_QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...TENANT_QUERY,
    as: { type: 'string', enum: ['case'], description: 'A case for a suite, instead of a cassette.' },
  },
} as const

export const RUNS_QUERY = {
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

export const RUNS_SCHEMA = {
  type: 'object',
  properties: {
    runs: { type: 'array', items: { type: 'object', properties: LISTED } },
    next: { type: 'string', description: 'The cursor of the next page, where there is one.' },
  },
} as const

export const RUN_SCHEMA = {
  type: 'object',
  properties: { ...LISTED, steps: { type: 'array', items: STEP }, gate: GATE },
} as const

/** How a run is replayed. */
export const REPLAY_BODY = {
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

export const REPLAYED_SCHEMA = {
  type: 'object',
  properties: {
    same: {
      type: 'boolean',
      description: 'Whether it went the same way; with a model: whether it made the same calls.',
    },
    model: { type: ['string', 'null'], description: 'Who was asked; null where nobody was.' },
    difference: { type: ['string', 'null'], description: 'Where it first went another way.' },
    answer: { type: ['object', 'null'], additionalProperties: true, description: 'Absent where it was broken off.' },
  },
} as const
