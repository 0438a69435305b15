import { randomUUID } from 'node:crypto'
import type { Params } from '../core/tool.ts'
import type { ModelEvent, ToolCall } from './model.ts'
import type { WireRequest } from './provider.ts'

/** What a model of ours that is no language model says: a text, or calls. */
export type Answer = string | readonly { readonly tool: string; readonly params: Params }[]

const wordsOf = (text: string): string[] => text.match(/(?:(?<!\s)\s+)?\S+/g) ?? []

/** Tokens are words here: of everything that was sent, and of everything that was said. */
export async function* answerEvents(request: WireRequest, answer: Answer): AsyncGenerator<ModelEvent> {
  const prompt_tokens = request.messages.reduce((sum, { content }) => sum + wordsOf(content ?? '').length, 0)
  const finish = (reason: 'stop' | 'tool_calls' | 'length', completion_tokens: number): ModelEvent => ({
    type: 'finish',
    reason,
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  })
  request.signal?.throwIfAborted()
  if (typeof answer === 'string') {
    const words = wordsOf(answer)
    const said = words.slice(0, request.max_tokens ?? words.length)
    for (const text of said) {
      request.signal?.throwIfAborted()
      yield { type: 'text-delta', text }
    }
    yield finish(said.length < words.length ? 'length' : 'stop', said.length)
    return
  }
  let words = 0
  for (const { tool, params } of answer) {
    const text = JSON.stringify(params)
    const call: ToolCall = { id: `call_${randomUUID()}`, type: 'function', function: { name: tool, arguments: text } }
    words += 1 + wordsOf(text).length
    yield { type: 'tool-call-start', id: call.id, name: tool }
    yield { type: 'tool-call-delta', id: call.id, text }
    yield { type: 'tool-call-end', call }
  }
  yield finish('tool_calls', words)
}
