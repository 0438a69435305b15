import type { Model, ModelEvent } from '../src/index.ts'
import { ANSWER, scriptedAnswers } from './loop-script.ts'
import type { LoopShape } from './loop-shape.ts'
import { NAME } from './weather.ts'

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/** The model that answers from memory, as a stream of events: for Toolyard and for the hand-written loop alike. */
export function eventModel(shape: LoopShape): Model {
  const next = scriptedAnswers<readonly ModelEvent[]>(
    shape,
    (calls) => [
      ...calls.map(({ id, json }) => ({
        type: 'tool-call-end' as const,
        call: { id, type: 'function' as const, function: { name: NAME, arguments: json } },
      })),
      { type: 'finish', reason: 'tool_calls', usage },
    ],
    [
      { type: 'text-delta', text: ANSWER },
      { type: 'finish', reason: 'stop', usage },
    ],
  )
  return {
    id: 'bench:memory',
    async *stream() {
      for (const event of next()) yield event
    },
  }
}
