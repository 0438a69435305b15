import type { FinishReason, Message, ModelEvent, OfferedTool } from '../model.ts'
import { acceptCalls } from './accept-calls.ts'
import { HoldBack } from './hold-back.ts'
import { type Accept, type Piece, readMarked, readWhole } from './read-printed.ts'
import { RepeatedCalls } from './repeated-calls.ts'

/** Whatever was printed before a filter or a failure is nothing to act on. */
const SOUND: ReadonlySet<FinishReason> = new Set<FinishReason>(['stop', 'tool_calls', 'length'])

/** Which of the calls that a model printed are made. */
export interface Recovery {
  readonly tools: readonly OfferedTool[]
  /** The conversation: a call that occurs in it is a quotation. */
  readonly messages: readonly Message[]
  /** Whether printed calls of this tool are made. */
  readonly isAllowed: (tool: string) => boolean
  /** Told of a valid call that stays text. */
  readonly onRefused?: (tool: string, reason: 'not allowed' | 'repeated') => void
}

/**
 * Finds the calls that a model printed as text instead of making them, and makes them. Only a tool that was offered is
 * called, with arguments that its schema allows; all else passes as the text it is, and where a real call comes as
 * well, everything does.
 *
 * A model that quotes a document prints calls that nobody asked for. So a call between markers (`<tool_call>…`) counts
 * only on a line of its own, outside of code and quotes; bare and fenced JSON only as the whole message, after at most
 * one short line; and none that an earlier message holds.
 */
export async function* recoverCalls(
  events: AsyncIterable<ModelEvent>,
  { tools, messages, isAllowed, onRefused }: Recovery,
): AsyncGenerator<ModelEvent, void, undefined> {
  const repeated = new RepeatedCalls(messages)
  const accept: Accept = (calls, body, marked) => {
    const accepted = acceptCalls(calls, tools)
    if (accepted === undefined) return undefined
    const forbidden = calls.find(({ name }) => !isAllowed(name))
    const [first] = calls
    if (forbidden !== undefined) onRefused?.(forbidden.name, 'not allowed')
    else if (first !== undefined && repeated.has(calls, body, marked)) onRefused?.(first.name, 'repeated')
    else return accepted
    return undefined
  }
  const read = (held: string, whole: boolean): Piece[] => (whole ? readWhole : readMarked)(held, accept)
  const hasCall = (held: string, whole: boolean) => read(held, whole).some((piece) => 'calls' in piece)
  const names = tools.map(({ name }) => name)
  const back = new HoldBack(names, hasCall)
  let isReal = tools.length === 0
  try {
    for await (const event of events) {
      if (event.type === 'text-delta' && !isReal) {
        yield* textEvent(back.push(event.text))
      } else if (event.type === 'finish') {
        const whole = back.isWhole
        const held = back.release()
        const pieces = SOUND.has(event.reason) ? read(held, whole) : [{ text: held }]
        yield* pieces.flatMap(pieceEvents)
        yield pieces.some((piece) => 'calls' in piece) ? { ...event, reason: 'tool_calls' } : event
      } else {
        if (event.type !== 'text-delta') isReal = true
        yield* textEvent(back.release())
        yield event
      }
    }
  } catch (error) {
    yield* textEvent(back.release())
    throw error
  }
  yield* textEvent(back.release())
}

const textEvent = (text: string): ModelEvent[] => (text === '' ? [] : [{ type: 'text-delta', text }])

function pieceEvents(piece: Piece): ModelEvent[] {
  if ('text' in piece) return textEvent(piece.text)
  return piece.calls.flatMap((call): ModelEvent[] => {
    const { id, function: made } = call
    return [
      { type: 'tool-call-start', id, name: made.name },
      { type: 'tool-call-delta', id, text: made.arguments },
      { type: 'tool-call-end', call },
    ]
  })
}
