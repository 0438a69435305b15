import { shortened } from '../../core/schema/problem-words.ts'
import type { Message, ToolCall } from '../../models/model.ts'
import { invalid } from './openai-error.ts'

type Wire = Readonly<Record<string, unknown>>

/** Messages in OpenAI's form, in ours. Throws an `OpenAiError` that names the one at fault. */
export function readMessages(messages: readonly unknown[]): Message[] {
  const read: Message[] = []
  /** The calls of the last assistant message that have no result yet. */
  const open = new Map<string, string>()
  for (const [index, message] of messages.entries()) {
    const place = `messages[${index}]`
    if (!isObject(message)) throw invalid(place, `${place} must be an object with role and content`)
    const next = readMessage(message, place, open)
    if (next.role !== 'tool') requireResults(open, place)
    if (next.role === 'assistant')
      for (const { id, function: called } of next.tool_calls ?? []) open.set(id, called.name)
    read.push(next)
  }
  requireResults(open, 'messages')
  return read
}

function readMessage(message: Wire, place: string, open: Map<string, string>): Message {
  const { role } = message
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: readText(message.content, `${place}.content`) }
    case 'user':
      return { role, content: readText(message.content, `${place}.content`) }
    case 'assistant':
      return readAssistant(message, place)
    case 'tool':
      return readResult(message, place, open)
    default: {
      const known = 'known are system, developer, user, assistant and tool'
      throw invalid(`${place}.role`, `${place}.role ${quoted(role)} is not supported: ${known}`)
    }
  }
}

function readAssistant({ content, tool_calls: calls, function_call }: Wire, place: string): Message {
  if (function_call != null)
    throw invalid(`${place}.function_call`, `${place}: use tool_calls instead of function_call`)
  if (calls != null && !Array.isArray(calls)) throw invalid(`${place}.tool_calls`, `${place}.tool_calls must be a list`)
  const tool_calls = (calls ?? []).map((call: unknown, n: number) => readCall(call, `${place}.tool_calls[${n}]`))
  if (tool_calls.length === 0) return { role: 'assistant', content: readText(content, `${place}.content`) }
  if (new Set(tool_calls.map(({ id }) => id)).size < tool_calls.length) {
    throw invalid(`${place}.tool_calls`, `${place}.tool_calls must have different ids`)
  }
  const text = content == null ? '' : readText(content, `${place}.content`)
  return { role: 'assistant', content: text === '' ? null : text, tool_calls }
}

function readCall(call: unknown, place: string): ToolCall {
  const { id, type, function: called } = isObject(call) ? call : {}
  const { name, arguments: text } = isObject(called) ? called : {}
  if (type !== 'function') throw invalid(place, `${place}.type must be "function"`)
  if (typeof id !== 'string' || typeof name !== 'string' || typeof text !== 'string') {
    throw invalid(place, `${place} must have an id, and a function with name and arguments, all of them text`)
  }
  return { id, type, function: { name, arguments: text } }
}

function readResult({ tool_call_id: id, content }: Wire, place: string, open: Map<string, string>): Message {
  const name = typeof id === 'string' ? open.get(id) : undefined
  if (typeof id !== 'string' || name === undefined) {
    const what = `${place}.tool_call_id ${quoted(id)} must be one of the tool_calls right before, each answered once`
    throw invalid(`${place}.tool_call_id`, what)
  }
  open.delete(id)
  return { role: 'tool', tool_call_id: id, name, content: readText(content, `${place}.content`) }
}

function requireResults(open: ReadonlyMap<string, string>, place: string): void {
  if (open.size === 0) return
  const ids = [...open.keys()].slice(0, 5).join(', ')
  throw invalid(place, `Every one of tool_calls needs a message of role "tool" right behind it; missing: ${ids}`)
}

/** A text, or a list of its parts. */
function readText(content: unknown, place: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalid(place, `${place} must be a text or a list of text parts`)
  const parts = content.map((part: unknown, n) => {
    const { type, text } = isObject(part) ? part : {}
    if (type === 'text' && typeof text === 'string') return text
    throw invalid(`${place}[${n}]`, `${place}[${n}]: parts of type ${quoted(type)} are not supported, only "text" is`)
  })
  return parts.join('\n')
}

const isObject = (value: unknown): value is Wire => typeof value === 'object' && value !== null && !Array.isArray(value)

const quoted = (value: unknown): string => (typeof value === 'string' ? `"${shortened(value)}"` : `(${typeof value})`)
