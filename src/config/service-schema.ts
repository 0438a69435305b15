import { BUDGET_SCHEMA } from '../core/costs.ts'
import type { Described } from '../core/json/described.ts'
import { QUOTA_SCHEMA } from '../core/storage/quota.ts'
import { MCP_SCHEMA } from '../mcp/server/served-part.ts'
import { GATE_SCHEMA } from '../validation/tool-use/tool-use-gate.ts'
import { CONNECTIONS_SCHEMA } from './connection-config.ts'
import { ROLES_SCHEMA } from './roles.ts'

const CLAIM = { type: 'string', minLength: 1, maxLength: 200 } as const

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

export const TENANT_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    flags: {
      type: 'object',
      additionalProperties: { type: 'boolean' },
      description: 'Permissions and tools by name: true allows, false forbids.',
    },
    quota: QUOTA_SCHEMA,
  },
} as const

export interface TenantConfig extends Described<typeof TENANT_SCHEMA> {}

export const LIMITS_SCHEMA = {
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
    ...QUOTA_SCHEMA.properties,
  },
} as const

/** Quotas here are those of each tenant, unless it has its own. */
export interface LimitsConfig extends Described<typeof LIMITS_SCHEMA> {}

export const INTROSPECTION_SCHEMA = {
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
} as const

/** How the issuer is asked about tokens (RFC 7662). */
export interface IntrospectionConfig extends Described<typeof INTROSPECTION_SCHEMA> {}

export const OIDC_SCHEMA = {
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
    introspection: INTROSPECTION_SCHEMA,
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
} as const

/** An OpenID Connect issuer whose users are callers. */
export interface OidcConfig extends Described<typeof OIDC_SCHEMA> {}

export const OBJECTIVE_SCHEMA = {
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
} as const

/** A service level objective: `success`, `p95_ms` or both. */
export interface ObjectiveConfig extends Described<typeof OBJECTIVE_SCHEMA> {}

/** The sections of the configuration besides tools and models. */
export const SERVICE_SCHEMA = {
  mcp: MCP_SCHEMA,
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
    additionalProperties: TENANT_SCHEMA,
  },
  roles: ROLES_SCHEMA,
  connections: CONNECTIONS_SCHEMA,
  auth: {
    type: 'object',
    description: 'Who may call the server, besides keys.',
    additionalProperties: false,
    properties: {
      oidc: OIDC_SCHEMA,
    },
  },
  limits: LIMITS_SCHEMA,
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
  validation: GATE_SCHEMA,
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
    items: OBJECTIVE_SCHEMA,
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
