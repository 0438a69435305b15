import type { JsonSchema } from '../../core/tool.ts'

/** What a file may hold, so that one by mistake does not fill the memory. */
export const SUITE_LIMITS = { bytes: 16 * 1024 * 1024, cases: 10_000, repeat: 100, calls: 100 } as const

const text = { type: 'string', minLength: 1 } as const

const MESSAGE = {
  type: 'object',
  required: ['role', 'content'],
  properties: {
    role: { enum: ['system', 'user', 'assistant', 'tool'] },
    content: { type: ['string', 'null'] },
    tool_calls: { type: 'array', items: { type: 'object', required: ['id', 'type', 'function'] } },
    tool_call_id: { type: 'string' },
    name: { type: 'string' },
  },
} as const

const TOOL = {
  type: ['string', 'object'],
  minLength: 1,
  required: ['name', 'description', 'parameters'],
  properties: {
    name: text,
    description: text,
    parameters: {
      type: 'object',
      required: ['type'],
      properties: { type: { const: 'object' } },
    },
  },
} as const

const EXPECT = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: {
    calls: {
      type: 'array',
      minItems: 1,
      maxItems: SUITE_LIMITS.calls,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['tool'],
        properties: {
          tool: text,
          params: { type: 'object', description: 'Values by name: plain JSON, or matchers such as {"$any": true}.' },
        },
      },
    },
    order: { enum: ['any', 'given'], default: 'any' },
    no_call: { const: true },
    forbidden: { type: 'array', minItems: 1, items: text },
    answer_matches: { ...text, description: 'A regular expression such as /sunny/i' },
  },
} as const

/** What one case must look like. */
export const CASE_SCHEMA: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['query', 'expect'],
  properties: {
    id: text,
    query: text,
    messages: { type: 'array', items: MESSAGE },
    tools: { type: 'array', items: TOOL },
    mocks: { type: 'object' },
    expect: EXPECT,
    repeat: { type: 'integer', minimum: 1, maximum: SUITE_LIMITS.repeat },
  },
}

const FILE = {
  type: 'object',
  additionalProperties: false,
  required: ['cases'],
  properties: { $schema: { type: 'string' }, name: text, remark: text, cases: { type: 'array' } },
} as const

/** What the object around the cases must look like. */
export const FILE_SCHEMA: JsonSchema = FILE

/** The schema of whole files, for editors. */
export function publishedSuiteSchema(): JsonSchema {
  const cases = { type: 'array', items: CASE_SCHEMA, maxItems: SUITE_LIMITS.cases }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'A suite of Toolyard',
    anyOf: [{ ...FILE, properties: { ...FILE.properties, cases } }, cases],
  }
}
