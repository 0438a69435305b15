import type { Message as ClientMessage } from 'ollama'
import { parseJson } from '../../core/json-depth.ts'
import { LIMITS } from '../../core/snapshot.ts'
import type { AssistantMessage, Message, ToolCall } from '../model.ts'

/** Newer servers than the client's types know ids of calls; older ones do not look at them. */
interface OllamaMessage extends ClientMessage {
  tool_call_id?: string
}

/** Our messages as Ollama takes them. */
export function ollamaMessages(messages: readonly Message[]): OllamaMessage[] {
  return messages.map((message) => {
    switch (message.role) {
      case 'assistant':
        return assistantMessage(message)
      case 'tool':
        return {
          role: 'tool',
          content: message.content,
          tool_name: message.name,
          tool_call_id: message.tool_call_id,
        }
      default:
        return { role: message.role, content: message.content }
    }
  })
}

function assistantMessage({ content, tool_calls = [], metadata }: AssistantMessage): OllamaMessage {
  const thinking = thinkingOf(metadata?.ollama)
  return {
    role: 'assistant',
    content: content ?? '',
    ...(thinking !== undefined && { thinking }),
    ...(tool_calls.length > 0 && { tool_calls: tool_calls.map(ollamaCall) }),
  }
}

const thinkingOf = (kept: unknown): string | undefined => {
  const thinking = typeof kept === 'object' && kept !== null ? Reflect.get(kept, 'thinking') : undefined
  return typeof thinking === 'string' ? thinking : undefined
}

const ollamaCall = ({ id, function: { name, arguments: text } }: ToolCall) => ({
  id,
  function: { name, arguments: argumentsObject(text) },
})

/** Ollama takes arguments as an object only, so that what was never one goes back empty. */
function argumentsObject(text: string): Record<string, unknown> {
  try {
    const value = parseJson(text, LIMITS.bodyDepth)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Not JSON: the result of the call, which follows, says so.
  }
  return {}
}
