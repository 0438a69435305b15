import { BUDGET_SCHEMA } from '../core/costs.ts'
import { CONNECTIONS_SCHEMA } from './connection-config.ts'
import { ROLES_SCHEMA } from './roles.ts'

const CLAIM = { type: 'string', minLength: 1, maxLength: 200 } as const

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
    description: 'Documents, jobs, chats, durable runs and payloads of one tenant. Default: 1 GB.',
  },
  stored_runs: {
    type: 'integer',
    minimum: 1,
    description: 'Stored runs of one tenant. The oldest ones are removed. Default: 10000.',
  },
} as const

const PATTERNS = { type: 'array', maxItems: 1_000, items: { type: 'string', minLength: 1, maxLength: 2_048 } } as const

/** `about` says when it is sent. */
const webhook = <About extends string>(about: About) =>
  ({
    type: 'object',
    description: about,
    required: ['url', 'secret'],
    additionalProperties: false,
    properties: {
      url: { type: 'string', minLength: 1, description: '${VAR} is replaced from the environment.' },
      secret: { type: 'string', minLength: 1, description: 'As "${WEBHOOK_SECRET}", not the secret itself.' },
    },
  }) as const

/** The sections of the configuration besides tools and models. */
export const SERVICE_SCHEMA = {
  mcp: {
    type: 'object',
    description: 'The MCP endpoint of the server.',
    additionalProperties: false,
    properties: {
      servers_out: {
        type: 'object',
        description: 'MCP servers at /mcp/<name>, each with a part of the tools, prompts and resources.',
        maxProperties: 100,
        propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,64}$' },
        additionalProperties: {
          type: 'object',
          required: ['tools'],
          additionalProperties: false,
          properties: {
            tools: { ...PATTERNS, description: 'Patterns of tools: * stands for any characters.' },
            prompts: { ...PATTERNS, description: 'Patterns of prompts. Default: none.' },
            resources: { ...PATTERNS, description: 'Patterns of the URIs of resources. Default: none.' },
          },
        },
      },
    },
  },
  knowledge: {
    type: 'object',
    description: 'Settings of the knowledge tools.',
    additionalProperties: false,
    properties: {
      model: {
        type: 'string',
        minLength: 1,
        description:
          'The model of the knowledge tools, as provider:model. Default: the first of responses or models that can write text.',
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
  connections: CONNECTIONS_SCHEMA,
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
          audience: {
            type: ['string', 'array'],
            minLength: 1,
            minItems: 1,
            maxItems: 100,
            items: { type: 'string', minLength: 1 },
            description: 'The audience of access tokens, or several: a token must have one of them.',
          },
          client_id: { type: 'string', minLength: 1, description: 'The client of the web UI.' },
          client_secret: { type: 'string', minLength: 1, description: 'As "${OIDC_SECRET}", not the secret itself.' },
          tokens: {
            enum: ['jwt', 'rfc9068'],
            description: 'Access tokens that count: all signed ones (jwt, the default), or only those by RFC 9068.',
          },
          introspection: {
            type: 'object',
            description: 'Asks the issuer about tokens that are not JWTs (RFC 7662).',
            required: ['client_id', 'client_secret'],
            additionalProperties: false,
            properties: {
              client_id: { type: 'string', minLength: 1, description: 'The client that may ask the issuer.' },
              client_secret: { type: 'string', minLength: 1, description: 'As "${NAME}", not the secret itself.' },
              endpoint: { type: 'string', minLength: 1, description: 'Default: as the discovery document has it.' },
              jwt: {
                type: 'boolean',
                description: 'Asks about JWTs, too, instead of verifying them here. Default: false.',
              },
              cache_ms: {
                type: 'integer',
                minimum: 0,
                maximum: 3_600_000,
                description: 'An answer counts for so long, at most until the token expires. Default: 60000.',
              },
              timeout_ms: { type: 'integer', minimum: 100, maximum: 30_000, description: 'Default: 5000.' },
            },
          },
          user_claim: { ...CLAIM, description: 'The claim that identifies a user. Default: sub.' },
          tenant_claim: { ...CLAIM, description: 'The claim that has the tenant.' },
          role_claim: {
            type: ['string', 'array'],
            minLength: 1,
            maxLength: 200,
            minItems: 1,
            maxItems: 20,
            items: CLAIM,
            description: 'The claim that has one or more values of roles, or several claims.',
          },
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
  costs: {
    type: 'object',
    description: 'Costs of tools and models.',
    additionalProperties: false,
    properties: {
      currency: { type: 'string', pattern: '^[A-Z]{3}$', description: 'Of all costs and prices. Default: USD.' },
    },
  },
  budgets: {
    type: 'array',
    maxItems: 1_000,
    description: 'What may be spent. Each tenant, key, tool or model that matches has the amount for itself.',
    items: BUDGET_SCHEMA,
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
      audit_days: {
        type: 'integer',
        minimum: 1,
        maximum: 3_650,
        description: 'Retention of the audit log, if it is longer than keep_days. Default: keep_days.',
      },
      audit: {
        enum: ['batched', 'durable'],
        description: 'durable: a call returns when its record is stored; batched (default): shortly before.',
      },
      runs: { type: 'boolean', description: 'false stores only the metrics of runs, not their contents.' },
      payloads: {
        enum: ['off', 'errors', 'all'],
        description:
          'Whether the parameters and results of calls are stored: of none, of failed calls, or of all. Default: off if the server has API keys or sign-in, otherwise all.',
      },
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
      webhook: webhook('Gets a signed POST when a call asks for approval, and when it is decided.'),
    },
  },
  objectives: {
    type: 'array',
    maxItems: 100,
    description: 'Service level objectives. Alerts open when calls use up their error budget too fast.',
    items: {
      type: 'object',
      additionalProperties: false,
      properties: {
        tool: {
          type: 'string',
          minLength: 1,
          maxLength: 200,
          description: 'A tool, or a pattern such as "orders_*". Default: all tools together.',
        },
        success: {
          type: 'number',
          minimum: 0.5,
          maximum: 0.999_999,
          description: 'The share of calls that must succeed, such as 0.995.',
        },
        p95_ms: { type: 'number', exclusiveMinimum: 0, description: 'The time within which 95 % of calls must end.' },
        window: {
          type: 'string',
          pattern: '^([3-9]|[1-8][0-9]|90)d$',
          description: 'The period of the error budget, 3d to 90d. Default: 30d.',
        },
        min_calls: {
          type: 'integer',
          minimum: 1,
          maximum: 1_000_000,
          description: 'The minimum number of calls in the long window before an alert opens. Default: 20.',
        },
      },
    },
  },
  alerts: {
    type: 'object',
    description: 'Alerts of objectives.',
    additionalProperties: false,
    properties: { webhook: webhook('Gets a signed POST when alerts open, and when they are resolved.') },
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
  page: {
    type: 'object',
    description: 'What may be set up from the web UI.',
    additionalProperties: false,
    properties: {
      allow_commands: {
        type: 'boolean',
        description:
          'Whether MCP servers with a command may be added on a server with API keys. They run programs on this machine. Default: false.',
      },
      variables: {
        type: 'array',
        maxItems: 1_000,
        items: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
        description:
          'The environment variables that may be named on a server with API keys: their values can be sent anywhere. Default: none.',
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
