/** The parts of the configuration beside tools and models: knowledge, who may call, how often, and what is kept. */
export const SERVICE_SCHEMA = {
  knowledge: {
    type: 'object',
    description: 'What the knowledge tools work with.',
    additionalProperties: false,
    properties: {
      model: {
        type: 'string',
        minLength: 1,
        description: 'The model that summarizes and the like, as provider:model; else that of the first response rule.',
      },
      embedder: {
        type: 'string',
        minLength: 1,
        description: 'What makes vectors, as provider:model, or "none"; else local:minilm-l6-v2 where it is installed.',
      },
    },
  },
  tenants: {
    type: 'object',
    description: 'Who the callers belong to. What is stored with "toolyard tenants set" goes before.',
    propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,64}$' },
    additionalProperties: {
      type: 'object',
      additionalProperties: false,
      properties: {
        flags: {
          type: 'object',
          additionalProperties: { type: 'boolean' },
          description: 'Permissions and tools by name: true allows, false forbids.',
        },
      },
    },
  },
  limits: {
    type: 'object',
    description: 'What one caller may use.',
    additionalProperties: false,
    properties: {
      calls_per_session: {
        type: 'integer',
        minimum: 1,
        maximum: 100_000,
        description: 'Tool calls; 1000 if not given.',
      },
      calls_per_minute: { type: 'integer', minimum: 1, maximum: 10_000_000, description: 'Tool calls of one caller.' },
      body_bytes: {
        type: 'integer',
        minimum: 1_024,
        maximum: 67_108_864,
        description: 'Of one request; 1 MB if not given.',
      },
      job_timeout_ms: {
        type: 'integer',
        minimum: 1_000,
        description: 'The longest that a job may take; 1 hour if not given.',
      },
    },
  },
  storage: {
    type: 'object',
    description: 'What is kept, and for how long.',
    additionalProperties: false,
    properties: {
      keep_days: {
        type: 'integer',
        minimum: 1,
        maximum: 3_650,
        description: 'Audit, runs and figures; 7 if not given.',
      },
      audit: {
        enum: ['batched', 'durable'],
        description: 'durable: a call is answered when its record is safe; batched (default): shortly before.',
      },
      runs: { type: 'boolean', description: 'With false the contents of runs are not kept, only their figures.' },
    },
  },
  validation: {
    type: 'object',
    description: 'What is done about tools that a model fails with.',
    additionalProperties: false,
    properties: {
      gate: {
        enum: ['off', 'warn', 'hide'],
        description: 'off (default): nothing; warn: the run says so; hide: the model is not offered them.',
      },
      minimum_trials: {
        type: 'integer',
        minimum: 1,
        maximum: 1_000_000,
        description: 'With fewer nothing is decided; 10 if not given.',
      },
      threshold: {
        type: 'number',
        exclusiveMinimum: 0,
        maximum: 1,
        description: 'The part of the trials that must succeed; 0.8 if not given.',
      },
    },
  },
  server: {
    type: 'object',
    description: 'The HTTP server.',
    additionalProperties: false,
    properties: {
      hosts: {
        type: 'array',
        items: { type: 'string', minLength: 1 },
        description: 'Names by which clients reach it, without ports, besides those of this machine.',
      },
      cors_origins: {
        type: 'array',
        items: { type: 'string', minLength: 1 },
        description: 'Origins of pages that may call it, such as "https://app.example.com". None if not given.',
      },
      trusted_proxies: {
        type: 'array',
        items: { type: 'string', minLength: 1 },
        description:
          'Addresses and CIDRs of reverse proxies whose X-Forwarded-For header names the client. None if not given.',
      },
      shutdown_ms: {
        type: 'integer',
        minimum: 0,
        description: 'How long running calls may go on; 10 seconds if not given.',
      },
    },
  },
} as const
