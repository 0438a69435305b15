import type { Effect, JsonSchema } from '../core/tool.ts'

/** What every model stands behind: one question, one stream of events. */
export interface Model {
  /** `provider:model`. */
  readonly id: string
  stream(request: ModelRequest): AsyncIterable<ModelEvent>
}

export interface ModelRequest {
  readonly messages: readonly Message[]
  /** Empty: none are offered. */
  readonly tools: readonly OfferedTool[]
  readonly max_tokens?: number
  readonly temperature?: number
  /**
   * The shape of an answer in JSON: an object whose properties are all required and that has no others, which is what
   * every provider takes. A provider holds its models to it where it can, so the answer may still be anything.
   */
  readonly response_schema?: JsonSchema
  /** The effect of an offered tool, which decides whether a call that the model printed is made. Unknown is `write`. */
  readonly effectOf?: (tool: string) => Effect | undefined
  readonly signal?: AbortSignal
}

/** A tool as it was registered, of which a model needs these three. */
export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
}

export type Message =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | AssistantMessage
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly name: string; readonly content: string }

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: string | null
  readonly tool_calls?: readonly ToolCall[]
  /** What the provider wants back with the next question. */
  readonly metadata?: Metadata
}

export interface ToolCall {
  readonly id: string
  readonly type: 'function'
  /** `arguments` is JSON text, as the model wrote it. */
  readonly function: { readonly name: string; readonly arguments: string }
  /** What the provider wants back with the next question; `recovered` where the call was found in the text. */
  readonly metadata?: Metadata
}

export type Metadata = Readonly<Record<string, unknown>>

/** Exactly one `finish`, and it is the last; failures throw a `ModelError`. */
export type ModelEvent =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'tool-call-start'; readonly id: string; readonly name: string }
  | { readonly type: 'tool-call-delta'; readonly id: string; readonly text: string }
  | { readonly type: 'tool-call-end'; readonly call: ToolCall }
  | {
      readonly type: 'finish'
      readonly reason: FinishReason
      readonly usage?: Usage
      readonly metadata?: Metadata
    }

export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'error'

export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
}
