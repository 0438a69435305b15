import { BaseChatModel, type BindToolsInput } from '@langchain/core/language_models/chat_models'
import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages'
import { makeInvalidToolCall, parseToolCall } from '@langchain/core/output_parsers/openai_tools'
import type { ChatResult } from '@langchain/core/outputs'
import type { ModelCall, ScriptedModel } from '../../adapter.ts'

/** A scripted model as a LangChain chat model, reading calls as LangChain's own model for OpenAI does. */
export class ScriptedChatModel extends BaseChatModel {
  readonly #script: ScriptedModel

  constructor(script: ScriptedModel) {
    super({})
    this.#script = script
  }

  override _llmType(): string {
    return 'conformance'
  }

  override bindTools(tools: BindToolsInput[]) {
    return this.withConfig({ tools } as object)
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const last = messages.findLastIndex((message) => !ToolMessage.isInstance(message))
    const replies = messages.slice(last + 1).map((message) => ({
      id: (message as ToolMessage).tool_call_id,
      text: typeof message.content === 'string' ? message.content : JSON.stringify(message.content),
    }))
    const turn = this.#script(replies)
    const message = 'text' in turn ? new AIMessage(turn.text) : asking(turn.calls)
    return { generations: [{ text: message.text, message }] }
  }
}

function asking(calls: readonly ModelCall[]): AIMessage {
  const tool_calls = []
  const invalid_tool_calls = []
  for (const { id, name, arguments: text } of calls) {
    const raw = { id, type: 'function', function: { name, arguments: text } }
    try {
      const call = parseToolCall(raw, { returnId: true })
      if (call !== null && call !== undefined) tool_calls.push({ ...call, name, args: call.args, id })
    } catch (error) {
      invalid_tool_calls.push(makeInvalidToolCall(raw, error instanceof Error ? error.message : String(error)))
    }
  }
  return new AIMessage({ content: '', tool_calls, invalid_tool_calls })
}
