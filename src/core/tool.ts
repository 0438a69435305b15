import { COST_RULE_SCHEMA } from './costs.ts'
import type { Described } from './json/described.ts'

/** A JSON Schema. It is untrusted until `guardSchema` has checked it. */
export type JsonSchema = { readonly [keyword: string]: unknown }

export type Params = Record<string, unknown>

/** The side effects of a call: only `read` and `idempotent` calls are retried. */
export type Effect = 'read' | 'idempotent' | 'write'

export const IMPLEMENTATION_SCHEMA = {
  type: 'object',
  required: ['type'],
  properties: {
    type: { type: 'string' },
    handler: { type: 'string' },
    network: { type: 'boolean', description: 'Whether an isolated handler may open connections. Default: false.' },
    returns: { enum: ['mcp_content'] },
  },
} as const

/** `type` selects the kind; the other keys belong to the kind. */
export interface Implementation extends Described<typeof IMPLEMENTATION_SCHEMA> {
  readonly [option: string]: unknown
}

export const ROLE_NAME = '^[A-Za-z0-9_.-]{1,64}$'

const APPROVAL_SCHEMA = {
  type: ['boolean', 'object'],
  description: 'Whether calls run only after a person has approved them: true, or which calls and who decides.',
  additionalProperties: false,
  properties: {
    when: { type: 'object', description: 'A JSON Schema: only calls whose parameters match it. Default: all.' },
    by: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { type: 'string', pattern: ROLE_NAME },
      description: 'The roles that decide. Default: operator and admin.',
    },
    self: { type: 'boolean', description: 'Whether the caller that asks may decide. Default: false.' },
    expires_ms: {
      type: 'integer',
      minimum: 1_000,
      maximum: 31_536_000_000,
      description: 'How long a call can be approved. Default: 86400000, a day.',
    },
  },
} as const

/** Which calls need approval, and who decides. */
export type ApprovalRule = Exclude<Described<typeof APPROVAL_SCHEMA>, boolean>

export const DEPRECATION_SCHEMA = {
  type: 'object',
  description: 'Calls still run, with a warning. Models are offered the tool only as name@version.',
  additionalProperties: false,
  properties: {
    since: { type: 'string', minLength: 1 },
    remove_after: { type: 'string', minLength: 1 },
    message: { type: 'string', minLength: 1 },
    use: { type: 'string', minLength: 1, description: 'What to use instead.' },
  },
} as const

/** Why and until when a tool or a version of it should no longer be used. */
export interface Deprecation extends Described<typeof DEPRECATION_SCHEMA> {}

const VERSION = { type: 'string', minLength: 1, maxLength: 160 } as const

/** What decides together on which side a call is. */
export const ROLLOUT_SIDES = ['call', 'session', 'tenant'] as const

export const ROLLOUT_SCHEMA = {
  type: 'object',
  required: ['current'],
  additionalProperties: false,
  properties: {
    current: { ...VERSION, description: 'The version that callers get.' },
    candidate: { ...VERSION, description: 'The version that some of the callers get.' },
    percent: {
      type: 'number',
      minimum: 0,
      maximum: 100,
      description: 'The share of the callers that get the candidate. Default: 0.',
    },
    by: { enum: ROLLOUT_SIDES, description: 'What always gets the same version. Default: session.' },
    guard: {
      type: 'object',
      description: 'Rolls back if the candidate fails more often.',
      additionalProperties: false,
      properties: {
        min_calls: {
          type: 'integer',
          minimum: 20,
          maximum: 10_000,
          description: 'The calls that each version needs before the first comparison. Default: 100.',
        },
        max_error_increase: {
          type: 'number',
          minimum: 0,
          maximum: 1,
          description: 'How much more often calls may fail, 0.02 for two percentage points. Default: 0.',
        },
      },
    },
  },
} as const

/** Which versions of a tool callers get. */
export interface Rollout extends Described<typeof ROLLOUT_SCHEMA> {}

/** A version of a tool, as `name@version`, and the hash of its definition. */
export type HashedTool = readonly [tool: string, hash: string]

export const DEFINITION_SCHEMA = {
  type: 'object',
  required: ['name', 'description', 'parameters', 'implementation'],
  properties: {
    name: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
    description: { type: 'string', minLength: 1 },
    parameters: { type: 'object' },
    implementation: IMPLEMENTATION_SCHEMA,
    version: {
      ...VERSION,
      description: 'A semantic version. Definitions of one name need different ones. Default: 0.0.0.',
    },
    deprecated: DEPRECATION_SCHEMA,
    migrate: {
      type: 'array',
      maxItems: 100,
      description: 'Converts the parameters of older versions before they are validated.',
      items: {
        type: 'object',
        required: ['from'],
        additionalProperties: false,
        properties: {
          from: VERSION,
          rename: { type: 'object', additionalProperties: { type: 'string', minLength: 1 } },
          defaults: { type: 'object' },
          drop: { type: 'array', items: { type: 'string', minLength: 1 } },
        },
      },
    },
    type: { type: 'string' },
    handler: { type: 'string' },
    timeout_ms: { type: 'number', exclusiveMinimum: 0 },
    permissions: { type: 'array', items: { type: 'string', minLength: 1 } },
    effect: { enum: ['read', 'idempotent', 'write'] },
    retry: {
      type: 'object',
      required: ['max_attempts'],
      additionalProperties: false,
      properties: {
        max_attempts: { type: 'integer', minimum: 1, maximum: 20 },
        backoff_ms: { type: 'number', minimum: 0 },
      },
    },
    cache: {
      type: 'object',
      required: ['ttl_ms'],
      additionalProperties: false,
      properties: { ttl_ms: { type: 'number', exclusiveMinimum: 0 } },
    },
    shared: {
      type: 'boolean',
      description: 'Whether the results of a handler in code are the same for all callers of a tenant. Default: false.',
    },
    approval: APPROVAL_SCHEMA,
    max_concurrency: { type: 'integer', minimum: 1 },
    max_result_bytes: { type: 'integer', minimum: 1 },
    rate_limit: {
      type: 'object',
      required: ['calls', 'per_ms'],
      additionalProperties: false,
      properties: {
        calls: { type: 'integer', minimum: 1, maximum: 100_000 },
        per_ms: { type: 'number', exclusiveMinimum: 0 },
      },
    },
    cost: COST_RULE_SCHEMA,
  },
} as const

/** A tool definition, with the keys of the configuration file. */
export interface ToolDefinition extends Described<typeof DEFINITION_SCHEMA> {
  readonly implementation: Implementation
}
