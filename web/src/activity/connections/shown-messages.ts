import type { McpTraffic } from '../../../../src/server/http/views.ts'

/** The messages whose method contains a text, newest first. */
export function shownMessages(messages: McpTraffic['messages'], method: string): McpTraffic['messages'] {
  const wanted = method.toLowerCase()
  return messages.filter((message) => (message.method ?? '').toLowerCase().includes(wanted)).toReversed()
}
