import type { Effect, JsonSchema } from '../core/tool.ts'
import type { MediaPart } from '../core/tool-result.ts'

/** The interface of every model. */
export interface Model {
  /** `provider:model`. */
  readonly id: string
  /** The media that it takes; only text by default. */
  readonly accepts?: AcceptedMedia
  /** Whether its provider enforces a response schema. By default, the loop asks for it in the prompt. */
  enforces?(schema: JsonSchema, hasTools: boolean): boolean
  stream(request: ModelRequest): AsyncIterable<ModelEvent>
}

export interface AcceptedMedia {
  /** Media types of `data`, such as `image/png`. */
  readonly types: readonly string[]
  /** Whether its provider loads images from a `url`. */
  readonly urls?: boolean
}

export interface ModelRequest {
  readonly messages: readonly Message[]
  readonly tools: readonly OfferedTool[]
  readonly max_tokens?: number
  readonly temperature?: number
  /** The JSON Schema of the response, an object. Providers enforce it if they can, so the response may still differ. */
  readonly response_schema?: JsonSchema
  /** The turn must call a tool. Providers enforce it if they can. */
  readonly tool_choice?: 'required'
  /** Asks the provider to cache the system message and the tools. Requests with the same key share what is cached. */
  readonly cache?: { readonly key: string }
  /** Decides whether a printed call runs. Unknown means `write`, and calls with `never` don't run at all. */
  readonly effectOf?: (tool: string) => Effect | 'never' | undefined
  /** The caller's tenant. Models that run in Toolyard answer tenants in turns. */
  readonly tenant?: string
  readonly signal?: AbortSignal
}

export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
}

/** The tool by which models find others. */
export const SEARCH_TOOLS = 'search_tools'

export type Message =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: Content }
  | AssistantMessage
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly name: string; readonly content: Content }

/** The text of a tool message names the media that follow. */
export type Content = string | readonly Part[]

export type Part = { readonly type: 'text'; readonly text: string } | MediaPart

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: string | null
  readonly tool_calls?: readonly ToolCall[]
  /** Sent back to the provider with the next request. */
  readonly metadata?: Metadata
}

export interface ToolCall {
  readonly id: string
  readonly type: 'function'
  /** `arguments` is JSON text, unchecked. */
  readonly function: { readonly name: string; readonly arguments: string }
  /** Sent back to the provider with the next request; has `recovered` if the call was printed as text. */
  readonly metadata?: Metadata
}

export type Metadata = Readonly<Record<string, unknown>>

/** The last event is the only `finish`; failures throw a `ModelError`. */
export type ModelEvent =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'tool-call-start'; readonly id: string; readonly name: string }
  | { readonly type: 'tool-call-delta'; readonly id: string; readonly text: string }
  | { readonly type: 'tool-call-end'; readonly call: ToolCall }
  | {
      readonly type: 'finish'
      readonly reason: FinishReason
      /** The provider's own word, if `reason` is `error`. */
      readonly raw_reason?: string
      readonly usage?: Usage
      readonly metadata?: Metadata
    }

export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'error'

export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  /** Of `prompt_tokens`, those that the provider read from its cache. */
  readonly cached_tokens?: number
}
