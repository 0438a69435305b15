import { randomUUID } from 'node:crypto'
import type { ModelEvent, ToolCall } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { ProviderSettings, ProviderSurroundings, Wire, WireRequest } from '../provider.ts'
import { findPackages } from './engine/find-packages.ts'
import { ProcessScorer } from './engine/process-scorer.ts'
import type { Answer } from './talk/answer.ts'

const MODEL = 'v0'

/** A wire that holds a process until it is closed. */
export interface MiniWire extends Wire {
  /** The process that holds the model, where there is one now. */
  readonly pid: number | undefined
  close(): Promise<void>
}

/** `mini:v0`, the model that comes with Toolyard: understands requests, calls tools, and writes no text of its own. */
export function miniWire(
  { name }: ProviderSettings,
  { log, clock }: ProviderSurroundings,
  find: typeof findPackages = findPackages,
): MiniWire {
  const id = `${name}:${MODEL}`
  const scorer = new ProcessScorer({ packages: find(name), name: id, log })
  return {
    dialect: 'plain',
    get pid() {
      return scorer.pid
    },
    async *stream(model, request) {
      request.signal?.throwIfAborted()
      if (model !== MODEL) throw new ModelError(`The provider ${name} has no model '${model}': its only one is ${id}.`)
      // Dates, units and the rest are loaded with the first question.
      const { answerTo } = await import('./talk/answer.ts')
      const { messages, tools, signal } = request
      const now = new Date(clock.wall())
      yield* events(request, await answerTo(messages, { id, tools, scorer, now, ...(signal && { signal }) }))
    },
    list: async () => [{ name: MODEL, capabilities: ['function-calling'] }],
    close: () => scorer.close(),
  }
}

const wordsOf = (text: string): string[] => text.match(/\s*\S+/g) ?? []

/** Tokens are words here: of everything that was sent, and of everything that was said. */
async function* events(request: WireRequest, answer: Answer): AsyncGenerator<ModelEvent> {
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
