import type { DiscoverySettings } from '../chat/discovery.ts'
import type { ResponseRule } from '../chat/response-rules.ts'
import type { BudgetConfig } from '../core/costs.ts'
import type { Quota } from '../core/storage/quota.ts'
import type { Rollout } from '../core/tool.ts'
import type { CodeModeSettings } from '../kinds/composite/code-mode.ts'
import type { HttpSettings } from '../kinds/http/definition/http-implementation.ts'
import type { Forwarding } from '../mcp/client/server-settings.ts'
import type { ServedPart } from '../mcp/server/library.ts'
import type { ModelInfo } from '../models/model-info.ts'
import type { ProviderSettings } from '../models/provider.ts'
import type { GateSettings } from '../validation/tool-use/tool-use-gate.ts'
import type { ConnectionConfig } from './connection-config.ts'
import type { Role } from './roles.ts'

/** The transport. The three names in the middle mean the same in different clients. */
export const MCP_SERVER_TYPES = ['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse'] as const

type McpServerType = (typeof MCP_SERVER_TYPES)[number]

/** The configuration. Entries of `registry` are checked when loaded. */
export interface Config {
  readonly $schema?: string
  readonly tools?: {
    readonly enabled?: boolean
    readonly max_iterations?: number
    readonly default_timeout_ms?: number
    readonly max_parallel_calls?: number
    readonly registry?: readonly unknown[]
    readonly code_mode?: CodeModeSettings
    readonly discovery?: DiscoverySettings
    readonly rollout?: Readonly<Record<string, Rollout>>
  }
  readonly providers?: Readonly<Record<string, ProviderConfig>>
  readonly models?: readonly ModelInfo[]
  readonly responses?: readonly ResponseRule[]
  readonly http?: HttpSettings
  readonly knowledge?: KnowledgeConfig
  readonly tenants?: Readonly<Record<string, TenantConfig>>
  readonly limits?: LimitsConfig
  readonly costs?: { readonly currency?: string }
  readonly budgets?: readonly BudgetConfig[]
  readonly storage?: StorageConfig
  readonly validation?: GateSettings
  readonly server?: ServerConfig
  /** Besides the built-in ones. */
  readonly roles?: Readonly<Record<string, Role>>
  readonly auth?: { readonly oidc?: OidcConfig }
  /** OAuth providers at which users connect their accounts, by name. */
  readonly connections?: Readonly<Record<string, ConnectionConfig>>
  readonly approvals?: { readonly webhook?: WebhookConfig }
  readonly objectives?: readonly ObjectiveConfig[]
  readonly alerts?: { readonly webhook?: WebhookConfig }
  readonly packages?: PackagesConfig
  /** What may be set up from the web UI. */
  readonly page?: PageConfig
  readonly mcp?: { readonly servers_out?: Readonly<Record<string, ServedPart>> }
  readonly mcpServers?: Readonly<Record<string, McpServerConfig>>
  /** The name of `mcpServers` in VS Code. */
  readonly servers?: Readonly<Record<string, McpServerConfig>>
  /** Prompts of VS Code. */
  readonly inputs?: readonly McpInput[]
}

interface KnowledgeConfig {
  /** As `provider:model`. */
  readonly model?: string
  /** As `provider:model`, or `none`. */
  readonly embedder?: string
}

export interface TenantConfig {
  readonly flags?: Readonly<Record<string, boolean>>
  readonly quota?: Partial<Quota>
}

/** Quotas here are those of each tenant, unless it has its own. */
export interface LimitsConfig extends Partial<Quota> {
  readonly calls_per_session?: number
  readonly calls_per_minute?: number
  readonly body_bytes?: number
  readonly job_timeout_ms?: number
}

/** Both are for servers with API keys; one without trusts its user. */
interface PageConfig {
  /** Whether MCP servers with a command may be added. */
  readonly allow_commands?: boolean
  /** The environment variables that may be named. */
  readonly variables?: readonly string[]
}

interface PackagesConfig {
  /** A JSON file beside the configuration, or a URL. */
  readonly catalogue?: string
  /** Instead of that of npm. */
  readonly registry?: string
}

/** `${VAR}` in both is replaced from the environment. */
interface WebhookConfig {
  readonly url: string
  readonly secret: string
}

/** A service level objective: `success`, `p95_ms` or both. */
export interface ObjectiveConfig {
  /** A pattern. Default: all tools. */
  readonly tool?: string
  readonly success?: number
  readonly p95_ms?: number
  /** Such as `30d`, which is the default. */
  readonly window?: string
  readonly min_calls?: number
}

interface StorageConfig {
  readonly keep_days?: number
  readonly audit_days?: number
  readonly audit?: 'batched' | 'durable'
  readonly runs?: boolean
  /** Default: `off` if there are keys, otherwise `all`. */
  readonly payloads?: 'off' | 'errors' | 'all'
}

/** An OpenID Connect issuer whose users are callers. */
export interface OidcConfig {
  readonly issuer: string
  /** The audiences of access tokens: one of them must be that of a token. */
  readonly audience: string | readonly string[]
  readonly client_id: string
  /** `${VAR}` is replaced from the environment. */
  readonly client_secret?: string
  /** Default: `jwt`. */
  readonly tokens?: 'jwt' | 'rfc9068'
  readonly introspection?: IntrospectionConfig
  /** Default: `sub`. */
  readonly user_claim?: string
  readonly tenant_claim: string
  readonly role_claim: string | readonly string[]
  /** The role of each value of the claim. */
  readonly roles: Readonly<Record<string, string>>
}

/** How the issuer is asked about tokens (RFC 7662). */
export interface IntrospectionConfig {
  readonly client_id: string
  /** `${VAR}` is replaced from the environment. */
  readonly client_secret: string
  /** Default: as the discovery document has it. */
  readonly endpoint?: string
  /** Asks about JWTs, too. */
  readonly jwt?: boolean
  readonly cache_ms?: number
  readonly timeout_ms?: number
}

interface ServerConfig {
  readonly public_url?: string
  readonly hosts?: readonly string[]
  readonly cors_origins?: readonly string[]
  readonly trusted_proxies?: readonly string[]
  readonly connections_per_address?: number
  readonly drain_ms?: number
  readonly shutdown_ms?: number
}

/** `${VAR}` in address, key and headers is replaced from the environment. */
export type ProviderConfig = Omit<ProviderSettings, 'name' | 'type'> & {
  /** Default: the name of the entry. */
  readonly type?: string
}

/** An entry of `mcpServers` in the usual format. Other keys are ignored. */
export interface McpServerConfig {
  readonly type?: McpServerType
  readonly command?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string | number | boolean | null>>
  readonly cwd?: string
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A client that is registered with the authorization server. */
  readonly oauth?: McpOAuthConfig
  /** Calls use the account of their user. */
  readonly auth?: { readonly type?: string; readonly provider?: string }
  readonly disabled?: boolean
  /** Changed tools are refused until they are approved. */
  readonly pin?: boolean
  /** The timeout of its tools. */
  readonly timeout_ms?: number
  /** The same, as other clients write it. Unchecked. */
  readonly timeout?: unknown
  /** What to check if the server can't be reached. */
  readonly check?: string
  /** By tool: what the server calls the parameters that models see under another name. */
  readonly parameter_names?: ParameterNames
  readonly forward?: Partial<Forwarding>
}

type ParameterNames = Readonly<Record<string, Readonly<Record<string, string>>>>

export interface McpOAuthConfig {
  readonly client_id?: string
  readonly client_secret?: string
  readonly private_key?: string
  readonly issuer?: string
  readonly grant_type?: 'authorization_code' | 'client_credentials'
}

export interface McpInput {
  readonly id: string
  readonly description?: string
  readonly password?: boolean
}
