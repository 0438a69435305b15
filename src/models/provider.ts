import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { ModelEvent, ModelRequest, OfferedTool } from './model.ts'
import type { ModelScores } from './model-scores.ts'

/** What the configuration says of a provider; `${VAR}`s are already replaced. */
export interface ProviderSettings {
  /** The key under `providers`, and the first part of its models' ids. */
  readonly name: string
  readonly type: string
  readonly base_url?: string
  readonly api_key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly timeout_ms?: number
  readonly api?: 'responses' | 'chat'
  /** Whether `llama` holds calls to their schema. */
  readonly grammar?: boolean
}

/** What a provider may use of its surroundings. */
export interface ProviderSurroundings {
  readonly log: Log
  readonly clock: Clock
}

/** A tool as it goes over the wire: legal name, schema in the provider's dialect. */
export interface WireTool extends OfferedTool {
  /** The provider holds the arguments to the schema by itself. */
  readonly strict?: boolean
}

export interface WireRequest extends ModelRequest {
  readonly tools: readonly WireTool[]
}

/** One line of what a provider really has. */
export interface ListedModel {
  /** Without the provider. */
  readonly name: string
  readonly capabilities?: readonly string[]
}

/**
 * The wire to one provider: translates, and nothing more. Names, dialects, retries, the finish and calls written as
 * text are the business of what stands in front of it.
 */
export interface Wire {
  /** Which schemas the provider takes. */
  readonly dialect: Dialect
  /** Whether its models are known to write calls as text. */
  readonly printsCalls?: boolean
  /** Asks once. Failures throw a `ModelError`; an abort throws the signal's reason. */
  stream(model: string, request: WireRequest): AsyncIterable<ModelEvent>
  list?(signal: AbortSignal): Promise<ListedModel[]>
  /** What one of its models was measured to do, where that comes with it. */
  scores?(model: string): Promise<ModelScores | undefined>
  /** Lets go of what it holds: a loaded model. */
  close?(): Promise<void>
}

export type Dialect = 'openai' | 'anthropic' | 'gemini' | 'ollama' | 'plain'

/** Makes the wire; throws a `ModelError` that says what is missing (a key, a package). */
export type WireMaker = (settings: ProviderSettings, around: ProviderSurroundings) => Wire | Promise<Wire>
