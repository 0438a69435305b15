/** The configuration file, as JSON Schema: what is checked at the start, and what editors complete from. */
export const CONFIG_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Toolyard configuration',
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    tools: {
      type: 'object',
      description: 'The tools, and how they are run.',
      additionalProperties: false,
      properties: {
        enabled: { type: 'boolean', description: 'Only true enables tools; without it there are none anywhere.' },
        max_iterations: { type: 'integer', minimum: 1, maximum: 100, description: 'Turns with tool calls in one run.' },
        default_timeout_ms: { type: 'integer', minimum: 1, description: 'The deadline of tools that name none.' },
        max_parallel_calls: { type: 'integer', minimum: 1, maximum: 100, description: 'Calls of one turn at a time.' },
        registry: { type: 'array', description: 'Tool definitions; a bad one is reported and skipped.' },
      },
    },
  },
} as const

/** One entry of `tools.registry`. */
export const DEFINITION_SCHEMA = {
  type: 'object',
  required: ['name', 'description', 'parameters', 'implementation'],
  properties: {
    name: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
    description: { type: 'string', minLength: 1 },
    parameters: { type: 'object' },
    implementation: {
      type: 'object',
      required: ['type'],
      properties: { type: { type: 'string' }, handler: { type: 'string' } },
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
  },
} as const

/** The two together, for editors: what `toolyard.config.schema.json` holds. */
export function publishedSchema(): object {
  const { tools } = CONFIG_SCHEMA.properties
  const registry = { ...tools.properties.registry, items: DEFINITION_SCHEMA }
  const properties = { ...CONFIG_SCHEMA.properties, tools: { ...tools, properties: { ...tools.properties, registry } } }
  return { ...CONFIG_SCHEMA, properties }
}
