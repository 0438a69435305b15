import { canonicalText } from '../../core/schema/canonical-text.ts'
import type { Message } from '../../models/model.ts'
import type { Cassette } from './cassette.ts'

/** What a model was asked with after so many turns: all that was said, and the results of all calls. */
export function conversationAfter(turns: number, { request, turns: recorded, calls }: Cassette): Message[] {
  const messages: Message[] = [...request.messages]
  for (const [index, turn] of recorded.slice(0, turns).entries()) {
    const tool_calls = turn.calls.map(({ id, name, arguments: written }) => ({
      id,
      type: 'function' as const,
      function: { name, arguments: written },
    }))
    messages.push({ role: 'assistant', content: turn.text === '' ? null : turn.text, tool_calls })
    const results = calls.filter(({ iteration }) => iteration === index + 1)
    for (const [place, { tool, result }] of results.entries()) {
      const id = turn.calls[place]?.id ?? ''
      messages.push({ role: 'tool', tool_call_id: id, name: tool, content: JSON.stringify(result) })
    }
  }
  return messages
}

/**
 * Where two conversations first differ, as a sentence; undefined where they do not. The ids of calls, how long calls
 * took, and what only a provider understands do not count.
 */
export function firstDifference(expected: readonly Message[], actual: readonly Message[]): string | undefined {
  for (let index = 0; index < Math.max(expected.length, actual.length); index++) {
    const [was, is] = [shown(expected[index]), shown(actual[index])]
    if (was !== is) return `message ${index + 1} was ${was ?? 'not there'}, and is ${is ?? 'missing'}`
  }
  return undefined
}

/** A message as text in which equal ones are equal. */
function shown(message: Message | undefined): string | undefined {
  if (message === undefined) return undefined
  if (message.role === 'tool') return `${message.name} giving ${shownResult(message.content)}`
  if (message.role !== 'assistant' || message.tool_calls === undefined) return said(message)
  const calls = message.tool_calls.map(({ function: { name, arguments: written } }) => `${name}(${same(written)})`)
  return `${said(message)} with the calls ${calls.join(', ')}`
}

const said = ({ role, content }: Message): string => `${role} saying ${JSON.stringify(content || null)}`

function shownResult(content: string): string {
  const value = parsed(content)
  if (typeof value !== 'object' || value === null) return content
  const { execution_time_ms: _, ...result } = value as Record<string, unknown>
  return canonicalText(result)
}

const same = (written: string): string => {
  const value = parsed(written)
  return value === undefined ? written : canonicalText(value)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
