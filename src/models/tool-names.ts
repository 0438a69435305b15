import type { Message, ModelEvent, ToolCall } from './model.ts'

type Rename = (name: string) => string

/** The conversation with the names that the provider knows the tools by. */
export function renameMessages(messages: readonly Message[], rename: Rename): readonly Message[] {
  return messages.map((message) => {
    if (message.role === 'tool') return { ...message, name: rename(message.name) }
    if (message.role !== 'assistant' || message.tool_calls === undefined) return message
    return { ...message, tool_calls: message.tool_calls.map((call) => renameCall(call, rename)) }
  })
}

/** What the provider says, with the names that the tools were registered by. */
export async function* renameEvents(
  events: AsyncIterable<ModelEvent>,
  rename: Rename,
): AsyncGenerator<ModelEvent, void, undefined> {
  for await (const event of events) {
    if (event.type === 'tool-call-start') yield { ...event, name: rename(event.name) }
    else if (event.type === 'tool-call-end') yield { ...event, call: renameCall(event.call, rename) }
    else yield event
  }
}

function renameCall(call: ToolCall, rename: Rename): ToolCall {
  return { ...call, function: { ...call.function, name: rename(call.function.name) } }
}
