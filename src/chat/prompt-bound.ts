import type { Message, OfferedTool } from '../models/model.ts'

/** What providers write around a message. */
export const AROUND_A_MESSAGE = 16
/** And around a list of tools. */
const AROUND_TOOLS = 400
/** Schemas are plain English and punctuation: more than two bytes a token, on every tokenizer. */
const BYTES_PER_TOKEN_OF_TOOLS = 2

/** No tokenizer makes more tokens of a text than it has bytes. */
export const textBound = (text: string): number => Buffer.byteLength(text)

/** More tokens than a prompt of these has, whoever counts. */
export function promptBound(messages: readonly Message[], tools: readonly OfferedTool[]): number {
  let bound = tools.length === 0 ? 0 : AROUND_TOOLS + toolBytes(tools) / BYTES_PER_TOKEN_OF_TOOLS
  for (const message of messages) bound += AROUND_A_MESSAGE + messageBytes(message)
  return Math.ceil(bound)
}

function messageBytes(message: Message): number {
  let bytes = textBound(message.content ?? '')
  if (message.role === 'tool') bytes += textBound(message.name) + textBound(message.tool_call_id)
  if (message.role !== 'assistant') return bytes
  for (const { id, function: called } of message.tool_calls ?? []) {
    bytes += textBound(id) + textBound(called.name) + textBound(called.arguments) + AROUND_A_MESSAGE
  }
  return bytes
}

function toolBytes(tools: readonly OfferedTool[]): number {
  return tools.reduce(
    (bytes, { name, description, parameters }) =>
      bytes + textBound(name) + textBound(description) + textBound(JSON.stringify(parameters)),
    0,
  )
}
