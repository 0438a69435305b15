import type { JSONValue, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { parseJson } from '../../core/json-depth.ts'
import { LIMITS } from '../../core/snapshot.ts'
import type { AssistantMessage, Message, ToolCall } from '../model.ts'
import { callOptions, type KeptPart, keptParts } from './kept-part.ts'

/** In what the providers differ. */
export interface Manner {
  /** Failed results are marked as such; where that would wrap the envelope once more, they are not. */
  readonly marksFailures: boolean
  /** System messages may stand behind others; where they may not, the user says them. */
  readonly systemAnywhere: boolean
}

type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]
type ToolPart = Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number]
type ResultMessage = Extract<Message, { role: 'tool' }>

/** Our messages as a prompt of the AI SDK: what was said by one side in a row is one message. */
export function toPrompt(messages: readonly Message[], manner: Manner): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = []
  for (const message of messages) {
    const last = prompt.at(-1)
    if (message.role === 'assistant') {
      const content = assistantParts(message)
      // A turn in which nothing was said is refused by most, whatever was thought.
      if (content.some(({ type }) => type !== 'reasoning')) prompt.push({ role: 'assistant', content })
    } else if (message.role === 'tool') {
      const part = resultPart(message, manner)
      if (last?.role === 'tool') last.content.push(part)
      else prompt.push({ role: 'tool', content: [part] })
    } else if (message.role === 'system' && (manner.systemAnywhere || (last?.role ?? 'system') === 'system')) {
      prompt.push({ role: 'system', content: message.content })
    } else {
      const part = { type: 'text' as const, text: message.content }
      if (last?.role === 'user') last.content.push(part)
      else prompt.push({ role: 'user', content: [part] })
    }
  }
  return prompt
}

function assistantParts({ content, tool_calls: calls = [], metadata }: AssistantMessage): AssistantPart[] {
  const parts: AssistantPart[] = []
  const kept = keptParts(metadata)
  const text = content ?? ''
  const asItCame = kept.reduce((sum, part) => sum + lengthOf(part), 0) === text.length
  if (!asItCame && text !== '') parts.push({ type: 'text', text })
  const left = new Map(calls.map((call) => [call.id, call]))
  let at = 0
  for (const part of kept) {
    const call = part.type === 'call' ? left.get(part.id) : undefined
    if (call !== undefined && left.delete(call.id)) parts.push(callPart(call))
    else if (part.type === 'reasoning') parts.push({ type: 'reasoning', text: part.text, ...optionsOf(part) })
    else if (part.type === 'text' && asItCame && (part.length > 0 || part.options)) {
      parts.push({ type: 'text', text: text.slice(at, at + part.length), ...optionsOf(part) })
    }
    at += lengthOf(part)
  }
  parts.push(...[...left.values()].map(callPart))
  return parts
}

const lengthOf = (part: KeptPart): number => (part.type === 'text' ? part.length : 0)

const optionsOf = ({ options }: Exclude<KeptPart, { type: 'call' }>) => options && { providerOptions: options }

function callPart({ id, function: { name, arguments: text }, metadata }: ToolCall): AssistantPart {
  const options = callOptions(metadata)
  return {
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    // Providers take objects only; the model shall see what it wrote all the same.
    input: readObject(text) ?? { raw_arguments: text },
    ...(options && { providerOptions: options }),
  }
}

function resultPart({ tool_call_id, name, content }: ResultMessage, { marksFailures }: Manner): ToolPart {
  const envelope = readObject(content)
  const failed = marksFailures && envelope?.success === false
  return {
    type: 'tool-result',
    toolCallId: tool_call_id,
    toolName: name,
    output:
      envelope === undefined
        ? { type: 'text', value: content }
        : { type: failed ? 'error-json' : 'json', value: envelope },
  }
}

function readObject(text: string): Record<string, JSONValue> | undefined {
  try {
    const value = parseJson(text, LIMITS.answerDepth)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return value as Record<string, JSONValue>
  } catch {
    return undefined
  }
}
