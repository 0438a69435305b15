import type { Described } from '../../core/json/described.ts'

const TEXT = { type: 'string', minLength: 1 } as const

/** The JSON Schema of `implementation`. */
export const AGENT_SCHEMA = {
  type: 'object',
  description: 'A model that works on a task with tools of its own, here (tools) or on another server (url).',
  required: ['type', 'model'],
  properties: {
    type: { const: 'agent' },
    model: { ...TEXT, description: 'provider:model.' },
    prompt: { ...TEXT, description: 'The instructions of the agent. {{name}} stands for a parameter, as JSON.' },
    tools: { type: 'array', items: TEXT, description: 'Patterns of the tools that it may use, such as "search_*".' },
    budget: {
      type: 'object',
      additionalProperties: false,
      description: 'Limits of one call, within those of the caller.',
      properties: {
        wall_time_ms: { type: 'integer', minimum: 1 },
        tokens: { type: 'integer', minimum: 1 },
        cost: {
          type: 'number',
          exclusiveMinimum: 0,
          description: 'In units of costs.currency. Needs the prices of the model.',
        },
      },
    },
    max_iterations: { type: 'integer', minimum: 1, maximum: 100 },
    url: { ...TEXT, description: 'Another Toolyard, or an OpenAI-compatible server that runs tools.' },
    api_key: { ...TEXT, description: 'For url, as "${NAME}", from the environment.' },
  },
} as const

export interface AgentImplementation extends Described<typeof AGENT_SCHEMA> {}
