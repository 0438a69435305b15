import type { JsonSchema } from '../core/tool.ts'
import type { LangchainTool } from '../core/tool-view.ts'
import type { FinishReason, Message, Model, ModelRequest, OfferedTool, ToolCall, Usage } from './model.ts'
import { ModelError } from './model-error.ts'
import { offeredTools } from './offered-tools.ts'

export interface ChatOptions {
  /** As registered; none are offered where there are none. */
  readonly tools?: readonly (OfferedTool | LangchainTool)[]
  readonly max_tokens?: number
  readonly temperature?: number
  /** The shape of an answer in JSON, as in `ModelRequest`. */
  readonly response_schema?: JsonSchema
  /** The effect of a tool, as in `ModelRequest`. */
  readonly effectOf?: NonNullable<ModelRequest['effectOf']>
  readonly signal?: AbortSignal
}

export interface ChatReply {
  /** Null where the model only asks for tools. */
  readonly content: string | null
  readonly finish_reason: FinishReason
  readonly tool_calls?: readonly ToolCall[]
  readonly usage?: Usage
}

/** Asks a model once and gives its whole answer; rejects where it gives none. Tools are asked for, never run. */
export async function generateChat(
  model: Model,
  messages: readonly Message[],
  options: ChatOptions,
): Promise<ChatReply> {
  const { tools = [], ...rest } = options
  const request: ModelRequest = { messages, tools: offeredTools(tools), ...rest }
  let text = ''
  const calls: ToolCall[] = []
  for await (const event of model.stream(request)) {
    if (event.type === 'text-delta') text += event.text
    if (event.type === 'tool-call-end') calls.push(event.call)
    if (event.type !== 'finish') continue
    return {
      content: text === '' && calls.length > 0 ? null : text,
      finish_reason: event.reason,
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(event.usage !== undefined && { usage: event.usage }),
    }
  }
  throw new ModelError(`Model ${model.id} stopped in mid-answer. Try again`)
}
