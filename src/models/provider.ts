import type { Clock } from '../core/clock.ts'
import type { Described } from '../core/json/described.ts'
import type { Log } from '../core/log.ts'
import type { ApiMedia } from './content.ts'
import type { ModelEvent, ModelRequest, OfferedTool } from './model.ts'
import type { ModelScores } from './model-scores.ts'

/** The types of providers. Not literals: programs write their configuration without `as const`. */
export const PROVIDER_TYPES: readonly string[] = ['openai', 'anthropic', 'gemini', 'ollama', 'llama', 'mini']

export const PROVIDER_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    type: { enum: PROVIDER_TYPES, description: 'The API type. Default: the name.' },
    base_url: { type: 'string', minLength: 1, description: "The address, if it isn't the official one." },
    api_key: { type: 'string', minLength: 1, description: 'Such as "${OPENAI_API_KEY}", not the key itself.' },
    headers: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Sent with every request.',
    },
    timeout_ms: { type: 'integer', minimum: 1, description: 'The timeout of one response.' },
    api: {
      enum: ['responses', 'chat'],
      description: 'The OpenAI API. Default: chat if base_url is set, otherwise responses.',
    },
    grammar: { type: 'boolean', description: 'Whether llama constrains calls to their schema.' },
    any_model: {
      type: 'boolean',
      description:
        'Whether callers of the server may use models that the configuration does not name. Default: true for ollama, llama and mini, which have only the models installed, otherwise false.',
    },
  },
} as const

/** An entry of `providers`. */
export interface ProviderConfig extends Described<typeof PROVIDER_SCHEMA> {}

/** The configuration of a provider, with `${VAR}` replaced. */
export interface ProviderSettings extends Omit<ProviderConfig, 'type'> {
  /** The key under `providers`; model ids start with it. */
  readonly name: string
  readonly type: string
}

/** Providers that need no entry in a configuration: it is assumed if a model of theirs is named. */
export const USUAL_PROVIDER_NAMES = ['openai', 'anthropic', 'gemini', 'google', 'ollama'] as const

export interface ProviderContext {
  readonly log: Log
  readonly clock: Clock
  /** Sends the requests. Default: the `fetch` of Node.js. */
  readonly fetch?: typeof fetch
  /** How often a request is sent if it fails and a retry may help. Default: 4. */
  readonly attempts?: number
}

/** A tool with the provider's name rules and schema dialect applied. */
export interface WireTool extends OfferedTool {
  /** Whether the provider enforces the schema. */
  readonly strict?: boolean
}

export interface WireRequest extends ModelRequest {
  readonly tools: readonly WireTool[]
  /** Whether the provider can enforce `response_schema` exactly. */
  readonly response_strict?: boolean
}

/** The response schemas that a provider enforces: any, those of OpenAI's strict mode, or any if there are no tools. */
export type Shapes = 'any' | 'strict' | 'alone'

export interface ListedModel {
  /** Without the provider prefix. */
  readonly name: string
  readonly capabilities?: readonly string[]
}

/**
 * Translates requests and events for one provider, and nothing else: `ProviderClient` handles names, dialects, retries,
 * the finish and printed calls.
 */
export interface Wire {
  readonly dialect: Dialect
  /** Whether its models may print calls as text. */
  readonly printsCalls?: boolean
  /** The media that it translates; without it, requests contain texts only. */
  readonly media?: ApiMedia
  /** None by default. */
  readonly shapes?: Shapes
  /** Whether it can be asked for its models at any time, at no cost. */
  readonly local?: boolean
  /** Sends one request. Failures throw a `ModelError`, an abort the signal's reason. */
  stream(model: string, request: WireRequest): AsyncIterable<ModelEvent>
  list?(signal: AbortSignal): Promise<ListedModel[]>
  scores?(model: string): Promise<ModelScores | undefined>
  /** Vectors of short texts, for comparing them. */
  embed?(texts: readonly string[], signal: AbortSignal, tenant?: string): Promise<number[][]>
  /** Frees loaded models. */
  close?(): Promise<void>
}

export type Dialect = 'openai' | 'anthropic' | 'gemini' | 'ollama' | 'plain'

/** Throws a `ModelError` that names a missing key or package. */
export type WireMaker = (settings: ProviderSettings, around: ProviderContext) => Wire | Promise<Wire>
