import { type Clock, systemClock } from '../core/clock.ts'
import { pause } from '../core/pause.ts'
import type { FinishReason, Metadata, Model, ModelEvent, ModelRequest, ToolCall, Usage } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'

/** A call that a scripted model makes. */
export interface GivenCall {
  readonly name: string
  /** Text goes out as it is, so that it need not be JSON. */
  readonly arguments?: unknown
  /** Made up where it is not given. */
  readonly id?: string
  readonly metadata?: Metadata
}

/** One answer in full. What is given comes in this order: the delay, the text, the calls, the error or the finish. */
export interface GivenAnswer {
  /** Passes on `clock`; an abort ends it. */
  readonly delayMs?: number
  readonly clock?: Clock
  readonly text?: string
  readonly calls?: readonly GivenCall[]
  /** Thrown in place of the finish. */
  readonly error?: unknown
  /** `tool_calls` where there are calls, else `stop`. */
  readonly reason?: FinishReason
  readonly usage?: Usage
  readonly metadata?: Metadata
}

/** One turn: a text, an answer in full, an error to throw, or a function of the request that gives one of these. */
export type GivenTurn =
  | string
  | GivenAnswer
  | Error
  | ((request: ModelRequest) => string | GivenAnswer | Error | Promise<string | GivenAnswer | Error>)

/** A model that answers as the test says. */
export interface ScriptedModel extends Model {
  /** What it was asked, in order, as it was at that moment. */
  readonly requests: readonly ModelRequest[]
}

/**
 * Gives a model that answers with these turns, one a question:
 * `scripted({ calls: [{ name: 'get_weather', arguments: { location: 'Paris' } }] }, 'It is sunny.')`.
 */
export function scripted(...turns: readonly GivenTurn[]): ScriptedModel {
  const requests: ModelRequest[] = []
  let calls = 0
  return {
    id: 'scripted:turns',
    requests,
    async *stream(request) {
      request.signal?.throwIfAborted()
      // The asker may go on writing to its list of messages.
      requests.push({ ...request, messages: [...request.messages] })
      const turn = turns[requests.length - 1]
      if (turn === undefined) throw new ModelError(scriptIsOver(requests.length, turns.length))
      const given = typeof turn === 'function' ? await turn(request) : turn
      if (given instanceof Error) throw given
      const answer = typeof given === 'string' ? { text: given } : given
      if (answer.delayMs !== undefined) await pause(answer.delayMs, answer.clock ?? systemClock, request.signal)
      for (const event of eventsOf(answer, () => `call_${++calls}`)) {
        request.signal?.throwIfAborted()
        yield event
      }
      if (answer.error !== undefined) throw answer.error
    },
  }
}

function eventsOf(answer: GivenAnswer, newId: () => string): ModelEvent[] {
  const events: ModelEvent[] = []
  for (const text of answer.text?.match(/(?:(?<!\s)\s+)?\S+|(?<!\s)\s+$/g) ?? [])
    events.push({ type: 'text-delta', text })
  for (const { name, arguments: given = {}, id = newId(), metadata } of answer.calls ?? []) {
    const text = typeof given === 'string' ? given : JSON.stringify(given)
    const call: ToolCall = {
      id,
      type: 'function',
      function: { name, arguments: text },
      ...(metadata !== undefined && { metadata }),
    }
    events.push({ type: 'tool-call-start', id, name })
    for (const piece of halves(text)) events.push({ type: 'tool-call-delta', id, text: piece })
    events.push({ type: 'tool-call-end', call })
  }
  if (answer.error !== undefined) return events
  const { reason = answer.calls?.length ? 'tool_calls' : 'stop', usage, metadata } = answer
  events.push({
    type: 'finish',
    reason,
    ...(usage !== undefined && { usage }),
    ...(metadata !== undefined && { metadata }),
  })
  return events
}

/** Two pieces, so that whoever reads only one of them is found out; no character is cut in two. */
function halves(text: string): string[] {
  const middle = text.length >> 1
  const cut = /[\uDC00-\uDFFF]/.test(text.charAt(middle)) ? middle + 1 : middle
  return [text.slice(0, cut), text.slice(cut)].filter((piece) => piece !== '')
}

const scriptIsOver = (question: number, turns: number): string =>
  `The script is over: this is question ${question}, and there ${turns === 1 ? 'is 1 turn' : `are ${turns} turns`}. ` +
  'Give scripted() one turn for each question, or look why there is one more.'
