import { ROLES_SCHEMA } from './roles.ts'

/** What one tenant may store. */
const QUOTA = {
  queued_jobs: {
    type: 'integer',
    minimum: 1,
    maximum: 1_000_000,
    description: 'Jobs of one tenant that wait or run. Default: 1000.',
  },
  durable_runs: {
    type: 'integer',
    minimum: 0,
    description: 'Durable runs of one tenant that wait or run. Default: 10000.',
  },
  documents: { type: 'integer', minimum: 0, description: 'Documents of one tenant. Default: 100000.' },
  storage_bytes: {
    type: 'integer',
    minimum: 0,
    description:
      'Texts and vectors of documents, parameters and results of jobs, messages of chats of one tenant. Default: 1 GB.',
  },
  stored_runs: {
    type: 'integer',
    minimum: 1,
    description: 'Stored runs of one tenant. The oldest ones are removed. Default: 10000.',
  },
} as const

/** The sections of the configuration besides tools and models. */
export const SERVICE_SCHEMA = {
  knowledge: {
    type: 'object',
    description: 'Settings of the knowledge tools.',
    additionalProperties: false,
    properties: {
      model: {
        type: 'string',
        minLength: 1,
        description:
          'The model of the knowledge tools, as provider:model. Default: the model of the first response rule.',
      },
      embedder: {
        type: 'string',
        minLength: 1,
        description:
          'The embedding model, as provider:model, or "none". Default: local:minilm-l6-v2 if it is installed.',
      },
    },
  },
  tenants: {
    type: 'object',
    description: 'The tenants of callers. Flags set with "toolyard tenants set" override these.',
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
        quota: {
          type: 'object',
          description: 'Quotas of this tenant, instead of those in limits.',
          additionalProperties: false,
          properties: QUOTA,
        },
      },
    },
  },
  roles: ROLES_SCHEMA,
  auth: {
    type: 'object',
    description: 'Who may call the server, besides keys.',
    additionalProperties: false,
    properties: {
      oidc: {
        type: 'object',
        description: 'Accepts users of an OpenID Connect issuer.',
        required: ['issuer', 'audience', 'client_id', 'tenant_claim', 'role_claim', 'roles'],
        additionalProperties: false,
        properties: {
          issuer: { type: 'string', minLength: 1, description: 'As its discovery document has it; https.' },
          audience: { type: 'string', minLength: 1, description: 'The audience that access tokens must have.' },
          client_id: { type: 'string', minLength: 1, description: 'The client of the web UI.' },
          client_secret: { type: 'string', minLength: 1, description: 'As "${OIDC_SECRET}", not the secret itself.' },
          tenant_claim: { type: 'string', minLength: 1, description: 'The claim that has the tenant.' },
          role_claim: { type: 'string', minLength: 1, description: 'The claim that has one or more values of roles.' },
          roles: {
            type: 'object',
            minProperties: 1,
            additionalProperties: { type: 'string' },
            description: 'The role of each value of the role claim. If several match, the first one counts.',
          },
        },
      },
    },
  },
  limits: {
    type: 'object',
    description: 'The limits of one caller, and the quotas of each tenant.',
    additionalProperties: false,
    properties: {
      calls_per_session: {
        type: 'integer',
        minimum: 1,
        maximum: 100_000,
        description: 'Tool calls. Default: 1000.',
      },
      calls_per_minute: { type: 'integer', minimum: 1, maximum: 10_000_000, description: 'Tool calls of one caller.' },
      body_bytes: {
        type: 'integer',
        minimum: 1_024,
        maximum: 67_108_864,
        description: 'The maximum size of a request. Default: 1 MB.',
      },
      job_timeout_ms: {
        type: 'integer',
        minimum: 1_000,
        description: 'The maximum timeout of a job. Default: 1 hour.',
      },
      ...QUOTA,
    },
  },
  storage: {
    type: 'object',
    description: 'What is stored, and for how long.',
    additionalProperties: false,
    properties: {
      keep_days: {
        type: 'integer',
        minimum: 1,
        maximum: 3_650,
        description: 'Retention of audit log, runs and metrics. Default: 7.',
      },
      audit: {
        enum: ['batched', 'durable'],
        description: 'durable: a call returns when its record is stored; batched (default): shortly before.',
      },
      runs: { type: 'boolean', description: 'false stores only the metrics of runs, not their contents.' },
    },
  },
  validation: {
    type: 'object',
    description: 'The validation gate: what happens to tools that a model fails with.',
    additionalProperties: false,
    properties: {
      gate: {
        enum: ['off', 'warn', 'hide'],
        description: 'off (default): nothing; warn: the run has a warning; hide: the model is not offered them.',
      },
      minimum_trials: {
        type: 'integer',
        minimum: 1,
        maximum: 1_000_000,
        description: 'The minimum number of trials for a decision. Default: 10.',
      },
      threshold: {
        type: 'number',
        exclusiveMinimum: 0,
        maximum: 1,
        description: 'The required success rate. Default: 0.8.',
      },
    },
  },
  approvals: {
    type: 'object',
    description: 'Approvals of calls.',
    additionalProperties: false,
    properties: {
      webhook: {
        type: 'object',
        description: 'Gets a signed POST when a call asks for approval, and when it is decided.',
        required: ['url', 'secret'],
        additionalProperties: false,
        properties: {
          url: { type: 'string', minLength: 1, description: '${VAR} is replaced from the environment.' },
          secret: { type: 'string', minLength: 1, description: 'As "${APPROVAL_SECRET}", not the secret itself.' },
        },
      },
    },
  },
  packages: {
    type: 'object',
    description: 'Packages of tools.',
    additionalProperties: false,
    properties: {
      catalogue: {
        type: 'string',
        minLength: 1,
        description: 'A list of packages: a JSON file beside the configuration, or an http or https URL.',
      },
      registry: {
        type: 'string',
        pattern: '^https?://',
        description: 'The npm registry of "toolyard add npm:NAME". Default: https://registry.npmjs.org.',
      },
    },
  },
  server: {
    type: 'object',
    description: 'The HTTP server.',
    additionalProperties: false,
    properties: {
      public_url: {
        type: 'string',
        description: 'The address of the server for clients, such as "https://tools.example.com".',
      },
      hosts: {
        type: 'array',
        items: { type: 'string', minLength: 1 },
        description: 'Host names of the server, without ports, besides those of this machine.',
      },
      cors_origins: {
        type: 'array',
        items: { type: 'string', minLength: 1 },
        description: 'Origins of pages that may call it, such as "https://app.example.com". Default: none.',
      },
      trusted_proxies: {
        type: 'array',
        items: { type: 'string', minLength: 1 },
        description:
          'Addresses and CIDRs of reverse proxies whose X-Forwarded-For header names the client. Default: none.',
      },
      connections_per_address: {
        type: 'integer',
        minimum: 1,
        maximum: 10_000,
        description:
          'Open connections of one client address, or of one IPv6 /64 network. Trusted proxies have no limit. Default: 1000.',
      },
      drain_ms: {
        type: 'integer',
        minimum: 0,
        description:
          'How long the server still accepts requests after SIGTERM, while GET /ready answers "draining". Default: 5 seconds.',
      },
      shutdown_ms: {
        type: 'integer',
        minimum: 0,
        description: 'How long running calls may continue at shutdown. Default: 10 seconds.',
      },
    },
  },
} as const
