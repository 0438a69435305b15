import { parseJson } from '../../core/json-depth.ts'
import { LIMITS } from '../../core/snapshot.ts'
import type { AssistantMessage, Message, ToolCall } from '../model.ts'

/**
 * A message as LangChain takes it from outside; it makes its own classes of it. Made here, they would be those of
 * another copy of the package.
 */
export interface LangchainMessage {
  role: string
  content: string | object[]
  [field: string]: unknown
}

/** What of a message of LangChain has to come back with the next question. */
export interface KeptMessage {
  readonly id?: string
  /** Where it is more than the text: thinking with its signature, for one. */
  readonly content?: readonly object[]
  readonly additional_kwargs?: Readonly<Record<string, unknown>>
  readonly response_metadata?: Readonly<Record<string, unknown>>
}

/** Our messages as LangChain takes them. */
export function langchainMessages(messages: readonly Message[]): LangchainMessage[] {
  return messages.map((message) => {
    if (message.role === 'assistant') return assistantMessage(message)
    return { ...message }
  })
}

function assistantMessage({ content, tool_calls = [], metadata }: AssistantMessage): LangchainMessage {
  const kept = (metadata?.langchain ?? {}) as KeptMessage
  return {
    ...kept,
    role: 'assistant',
    content: kept.content === undefined ? (content ?? '') : [...kept.content],
    tool_calls: tool_calls.map(langchainCall),
  }
}

const langchainCall = ({ id, function: { name, arguments: text } }: ToolCall) => ({
  id,
  name,
  args: argumentsObject(text),
  type: 'tool_call',
})

/** Calls with other arguments than an object would be left out, and then their results answer nothing. */
function argumentsObject(text: string): object {
  try {
    const value = parseJson(text, LIMITS.bodyDepth)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Not JSON: the result of the call, which follows, says so.
  }
  return {}
}
