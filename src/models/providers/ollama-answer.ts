import { randomUUID } from 'node:crypto'
import type { ChatResponse } from 'ollama'
import type { FinishReason, ModelEvent, Usage } from '../model.ts'
import { PrintedThinking } from './printed-thinking.ts'

/**
 * Servers before 0.1.38 say no reason when all is well. `load` and `unload` answer no question, and whatever else there
 * may be is not known to be good.
 */
const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['', 'stop'],
  ['stop', 'stop'],
  ['length', 'length'],
])

/** The events of one streamed answer. */
export async function* ollamaAnswer(parts: AsyncIterable<ChatResponse>): AsyncGenerator<ModelEvent> {
  const printed = new PrintedThinking()
  const thoughts: string[] = []
  const ids = new Set<string>()
  for await (const part of parts) {
    const { content = '', thinking = '', tool_calls = [] } = part.message ?? {}
    if (thinking !== '') thoughts.push(thinking)
    const text = printed.push(content) + (part.done ? printed.end() : '')
    if (text !== '') yield { type: 'text-delta', text }
    for (const call of tool_calls) {
      const id = freshId(Reflect.get(call, 'id'), ids)
      const { name, arguments: params } = call.function
      const written = JSON.stringify(params ?? {})
      yield { type: 'tool-call-start', id, name }
      yield { type: 'tool-call-delta', id, text: written }
      yield { type: 'tool-call-end', call: { id, type: 'function', function: { name, arguments: written } } }
    }
    if (part.done) {
      const usage = usageOf(part)
      const thought = thoughts.join('') + printed.thinking
      yield {
        type: 'finish',
        reason: ids.size > 0 ? 'tool_calls' : (REASONS.get(part.done_reason ?? '') ?? 'error'),
        ...(usage !== undefined && { usage }),
        ...(thought !== '' && { metadata: { ollama: { thinking: thought } } }),
      }
    }
  }
}

/** Ids have to be unique, and older servers give none. */
function freshId(given: unknown, seen: Set<string>): string {
  const id = typeof given === 'string' && given !== '' && !seen.has(given) ? given : `call_${randomUUID()}`
  seen.add(id)
  return id
}

/** A prompt that was still in the cache is not counted, and by older servers not named. */
function usageOf({ prompt_eval_count, eval_count }: Partial<ChatResponse>): Usage | undefined {
  if (prompt_eval_count === undefined && eval_count === undefined) return undefined
  const [prompt, completion] = [prompt_eval_count ?? 0, eval_count ?? 0]
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}
