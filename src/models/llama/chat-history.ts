import { textMessage } from '../content.ts'
import type { Message, OfferedTool } from '../model.ts'
import { writtenCall } from './schema-grammar.ts'

export type ChatHistoryItem =
  | { readonly type: 'system' | 'user'; readonly text: string }
  | { readonly type: 'model'; readonly response: readonly string[] }

/** How tools, calls and results are written as text. */
interface Form {
  readonly tools: (tools: readonly OfferedTool[]) => string
  readonly call: (name: string, args: string) => string
  readonly result: (name: string, content: string) => string
}

const schemaOf = ({ name, description, parameters }: OfferedTool): string =>
  JSON.stringify({ name, description, parameters })

/** With a grammar: one JSON object per reply. */
const held: Form = {
  tools: (tools) =>
    'You can use these tools, each with a JSON Schema of its arguments:\n' +
    `${tools.map(schemaOf).join('\n')}\n` +
    'Reply with one JSON object and nothing else. To use a tool: {"name": "the tool", "arguments": {…}}. ' +
    'To answer the user, where no tool is needed or its result is known: {"answer": "your answer"}.',
  call: writtenCall,
  result: (name, content) => `The result of ${name}: ${content}`,
}

/** Without a grammar: the format of Hermes and Qwen, which most models understand. */
const free: Form = {
  tools: (tools) =>
    'You may call one or more functions to assist with the user query.\n' +
    `<tools>\n${tools.map(schemaOf).join('\n')}\n</tools>\n` +
    'For each function call, return a JSON object with function name and arguments within <tool_call></tool_call> tags:\n' +
    '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>',
  call: (name, args) => `<tool_call>\n${writtenCall(name, args)}\n</tool_call>`,
  result: (_, content) => `<tool_response>\n${content}\n</tool_response>`,
}

/** The conversation with its tools, ending with an empty reply to complete. */
export function chatHistory(
  messages: readonly Message[],
  tools: readonly OfferedTool[],
  grammar: boolean,
): ChatHistoryItem[] {
  const form = grammar ? held : free
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content ?? '')
  if (tools.length > 0) system.push(form.tools(tools))
  const history: ChatHistoryItem[] = system.length > 0 ? [{ type: 'system', text: system.join('\n\n') }] : []
  for (const message of messages.map(textMessage)) {
    if (message.role === 'system') continue
    if (message.role === 'assistant') {
      const calls = message.tool_calls?.map(({ function: call }) => form.call(call.name, call.arguments)) ?? []
      history.push({ type: 'model', response: [[message.content ?? '', ...calls].filter(Boolean).join('\n')] })
      continue
    }
    const text = message.role === 'tool' ? form.result(message.name, message.content) : message.content
    const last = history.at(-1)
    // Templates refuse two user messages in a row.
    if (last?.type === 'user') history[history.length - 1] = { type: 'user', text: `${last.text}\n${text}` }
    else history.push({ type: 'user', text })
  }
  return [...history, { type: 'model', response: [] }]
}
