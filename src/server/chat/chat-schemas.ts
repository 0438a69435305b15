import { GATE, STOP_REASON } from './run-schemas.ts'

/** Of a question, and of one thing that was said before it. */
const LONGEST_TEXT = 200_000
const MOST_MESSAGES = 200
const MOST_ENTRIES = 100

const TEXT = { type: 'string', maxLength: LONGEST_TEXT } as const

/** The body of `POST /chat`. */
export const CHAT_SCHEMA = {
  type: 'object',
  required: ['message'],
  additionalProperties: false,
  properties: {
    message: { ...TEXT, description: 'The question.' },
    previous_messages: {
      type: 'array',
      maxItems: MOST_MESSAGES,
      description: 'What was said before, the oldest first.',
      items: {
        type: 'object',
        required: ['role', 'content'],
        additionalProperties: false,
        properties: { role: { enum: ['user', 'assistant'] }, content: TEXT },
      },
    },
    profile: {
      type: 'object',
      maxProperties: MOST_ENTRIES,
      description: 'What is known of the one who asks (intent, service, topic, …): the response rules match on it.',
    },
    session_id: { type: 'string', minLength: 1, maxLength: 200, description: 'What the calls are counted by.' },
    tool_name: { type: 'string', minLength: 1, maxLength: 200, description: 'Runs first; the answer builds on it.' },
    tool_params: { description: 'Its parameters.' },
  },
} as const

/** The body of `POST /api/tools/test`; what is missing is said by the route, in the words of the page. */
export const TEST_SCHEMA = {
  type: 'object',
  properties: {
    query: { type: 'string', maxLength: LONGEST_TEXT },
    model: { type: 'string', maxLength: 300, description: 'provider:model' },
  },
} as const

const CALL = {
  type: 'object',
  additionalProperties: true,
  properties: {
    tool: { type: 'string' },
    params: { description: 'What the model sent; the raw text where it was no JSON.' },
    result: { description: 'The whole envelope.' },
    iteration: { type: 'integer', description: '0 where the tool ran before the model was asked.' },
  },
} as const

/** An answer. */
export const ANSWER_SCHEMA = {
  type: 'object',
  additionalProperties: true,
  properties: {
    content: { type: 'string' },
    service: { type: 'string' },
    model: { type: 'string' },
    tool_calls: { type: 'array', items: CALL },
    stop_reason: STOP_REASON,
    gate: GATE,
    run_id: { type: 'string', description: 'Where the run can be looked at: GET /api/runs/{id}.' },
  },
} as const
