import type { ResponseRule } from '../chat/rules/response-rule.ts'
import type { ModelInfo } from '../models/catalogue/model-info.ts'

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
}

/** One entry of `providers`; `${VAR}` in address, key and headers is replaced from the environment. */
export interface ProviderConfig {
  /** By default the name that it stands under. */
  readonly type?: string
  readonly base_url?: string
  readonly api_key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly timeout_ms?: number
  readonly api?: 'responses' | 'chat'
  /** Whether `llama` holds calls to their schema. */
  readonly grammar?: boolean
}
