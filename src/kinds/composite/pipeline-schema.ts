import type { Described } from '../../core/json/described.ts'

const MAX_STEPS = 50
export const DEFAULT_MAX_ITEMS = 100
const MAX_ITEMS = 10_000

const REFERENCE = {
  type: 'object',
  required: ['$'],
  additionalProperties: false,
  properties: { $: { type: 'string', description: 'A JSONPath over {params, steps}.' } },
} as const

const STEP_SCHEMA = {
  type: 'object',
  required: ['id', 'tool'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$', description: 'The name of the step.' },
    tool: { type: 'string', minLength: 1, description: 'The tool that the step calls.' },
    params: { type: 'object', description: 'Its parameters. {"$": path} stands for a value.' },
    when: {
      type: 'object',
      description: 'A JSON Schema that {params, steps} must match. Otherwise the step is skipped.',
    },
    for_each: { ...REFERENCE, description: 'An array. The step runs for each item, which is $.item.' },
    max_items: { type: 'integer', minimum: 1, maximum: MAX_ITEMS, default: DEFAULT_MAX_ITEMS },
    on_error: {
      description: '"fail" ends the pipeline, "continue" gives null, {"value": …} gives that value.',
      anyOf: [
        { enum: ['fail', 'continue'] },
        { type: 'object', required: ['value'], additionalProperties: false, properties: { value: {} } },
      ],
    },
  },
} as const

export interface WrittenStep extends Described<typeof STEP_SCHEMA> {}

/** The JSON Schema of `implementation`. */
export const PIPELINE_SCHEMA = {
  type: 'object',
  required: ['type', 'steps'],
  properties: {
    type: { const: 'pipeline' },
    steps: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_STEPS,
      items: STEP_SCHEMA,
    },
    output: { description: 'The result. {"$": path} stands for a value. Default: the result of the last step.' },
  },
} as const
