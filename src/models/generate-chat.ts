import type { JsonSchema } from '../core/tool.ts'
import { type LangchainTool, toolView } from '../core/tool-view.ts'
import { convertZod } from './langchain/convert-zod.ts'
import type { FinishReason, Message, Model, ModelRequest, OfferedTool, ToolCall, Usage } from './model.ts'
import { ModelError } from './model-error.ts'

const views = new WeakMap<object, OfferedTool>()

/** Tools as they were registered, LangChain's among them, as models take them: the very list where nothing differs. */
export function offeredTools(tools: readonly (OfferedTool | LangchainTool)[]): readonly OfferedTool[] {
  return tools.every(isOffered) ? tools : tools.map((tool) => (isOffered(tool) ? tool : viewOf(tool)))
}

const isOffered = (tool: OfferedTool | LangchainTool): tool is OfferedTool => 'parameters' in tool

/** Always the same one, since providers compile each tool once. */
function viewOf(tool: LangchainTool): OfferedTool {
  const view = views.get(tool) ?? toolView(tool, convertZod)
  if (view.parameters.type !== 'object') throw new TypeError('Tool parameters must be an object schema')
  views.set(tool, view)
  return view
}

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
