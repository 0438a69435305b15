import type { ResponseRule } from '../chat/rules/response-rule.ts'
import type { HttpSettings } from '../kinds/http/definition/http-implementation.ts'
import type { ModelInfo } from '../models/catalogue/model-info.ts'
import type { ProviderSettings } from '../models/provider.ts'
import type { GateSettings } from '../validation/tool-use/tool-use-gate.ts'
import type { McpServerType } from './mcp-server-types.ts'

/** What the configuration says; every section is optional. Entries of `registry` are checked one by one when loaded. */
export interface Config {
  readonly $schema?: string
  readonly tools?: {
    readonly enabled?: boolean
    readonly max_iterations?: number
    readonly default_timeout_ms?: number
    readonly max_parallel_calls?: number
    readonly registry?: readonly unknown[]
  }
  readonly providers?: Readonly<Record<string, ProviderConfig>>
  readonly models?: readonly ModelInfo[]
  readonly responses?: readonly ResponseRule[]
  readonly http?: HttpSettings
  readonly knowledge?: KnowledgeConfig
  readonly tenants?: Readonly<Record<string, TenantConfig>>
  readonly limits?: LimitsConfig
  readonly storage?: StorageConfig
  /** What is done about tools that a model fails with. */
  readonly validation?: GateSettings
  readonly server?: ServerConfig
  readonly mcpServers?: Readonly<Record<string, McpServerConfig>>
  /** What VS Code calls `mcpServers`. */
  readonly servers?: Readonly<Record<string, McpServerConfig>>
  /** What VS Code asks its user for. */
  readonly inputs?: readonly McpInput[]
}

/** What the knowledge tools work with. */
export interface KnowledgeConfig {
  /** The model that they ask, as `provider:model`. */
  readonly model?: string
  /** What makes vectors, as `provider:model`; `none` where nothing is to. */
  readonly embedder?: string
}

/** One entry of `tenants`. */
export interface TenantConfig {
  readonly flags?: Readonly<Record<string, boolean>>
}

/** What one caller may use. */
export interface LimitsConfig {
  readonly calls_per_session?: number
  readonly calls_per_minute?: number
  readonly body_bytes?: number
  readonly job_timeout_ms?: number
}

/** What is kept, and for how long. */
export interface StorageConfig {
  readonly keep_days?: number
  readonly audit?: 'batched' | 'durable'
  readonly runs?: boolean
}

/** The HTTP server. */
export interface ServerConfig {
  readonly hosts?: readonly string[]
  readonly cors_origins?: readonly string[]
  readonly trusted_proxies?: readonly string[]
  readonly shutdown_ms?: number
}

/** One entry of `providers`; `${VAR}` in address, key and headers is replaced from the environment. */
export type ProviderConfig = Omit<ProviderSettings, 'name' | 'type'> & {
  /** By default the name that it stands under. */
  readonly type?: string
}

/** One entry of `mcpServers`, in the form of the usual clients; keys of theirs that are not here are left alone. */
export interface McpServerConfig {
  readonly type?: McpServerType
  readonly command?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string | number | boolean | null>>
  readonly cwd?: string
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The client that its authorization server knows; keys of others are left alone here too. */
  readonly oauth?: McpOAuthConfig
  readonly disabled?: boolean
  /** Tools whose definition has changed are refused until they are approved. */
  readonly pin?: boolean
  /** What to look at where the server cannot be reached. */
  readonly check?: string
}

/** A client that somebody has registered with an authorization server. */
export interface McpOAuthConfig {
  readonly client_id?: string
  readonly client_secret?: string
  readonly private_key?: string
  readonly issuer?: string
  readonly grant_type?: 'authorization_code' | 'client_credentials'
}

/** An entry of VS Code's `inputs`. */
export interface McpInput {
  readonly id: string
  readonly description?: string
}
