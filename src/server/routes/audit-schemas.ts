import { TOOL_ERRORS } from '../../core/tool-error-code.ts'

const ISO = '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2}))?$'
const TEXT = { type: 'string', minLength: 1, maxLength: 200 }
const OUTCOME = { enum: ['success', 'failure', 'unknown'] }

export const AUDIT_QUERY = {
  tool: TEXT,
  caller: { ...TEXT, description: 'The id of a key, or local.' },
  run_id: TEXT,
  outcome: OUTCOME,
  error_code: { enum: Object.keys(TOOL_ERRORS) },
  from: {
    type: 'string',
    pattern: ISO,
    description: 'From this time on, ISO 8601.',
    examples: ['2026-01-31T12:00:00Z'],
  },
  to: { type: 'string', pattern: ISO, description: 'Before this time, ISO 8601.', examples: ['2026-02-01'] },
  limit: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
  cursor: { type: 'string', maxLength: 500, description: 'What the page before gave as next.' },
  format: { enum: ['csv', 'json'], description: 'Everything that matches, as a file to keep.' },
} as const

const nullable = (description?: string) => ({ type: ['string', 'null'], ...(description && { description }) })

export const AUDIT_COLUMNS = {
  id: { type: 'string' },
  time: { type: 'string', format: 'date-time' },
  tenant: { type: 'string' },
  caller: nullable('The id of the key that called.'),
  source: nullable('Which door the call came through.'),
  run_id: nullable('The conversation that it was part of.'),
  tool: { type: 'string' },
  model: nullable('The model that asked for the call, as provider:model.'),
  schema_hash: nullable('Names the definition that was called.'),
  params_hash: nullable('Names the parameters; they themselves are never kept.'),
  outcome: OUTCOME,
  error_code: nullable(),
  duration_ms: { type: 'number' },
  attempts: { type: 'integer' },
  hash: { type: 'string', description: 'Over this row and the one before it in its chain.' },
} as const

export const AUDIT_PAGE = {
  description: 'One page',
  type: 'object',
  properties: {
    rows: { type: 'array', items: { type: 'object', properties: AUDIT_COLUMNS } },
    next: { type: 'string', description: 'The cursor of the next page; absent on the last.' },
  },
}
