import assert from 'node:assert/strict'
import type { AssistantMessage, Model, ModelEvent, ModelRequest, ToolCall } from '../models/model.ts'

/** A complete response of a model. */
export interface ReadAnswer {
  readonly events: readonly ModelEvent[]
  /** The text deltas. */
  readonly pieces: readonly string[]
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly finish: Extract<ModelEvent, { type: 'finish' }>
  /** The message for the conversation. */
  readonly message: AssistantMessage
}

/** Reads a response to its end, and throws if its events violate the protocol. */
export async function readStream(model: Model, request: ModelRequest): Promise<ReadAnswer> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(request)) events.push(event)
  const pieces = events.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []))
  const finish = events.at(-1)
  assert.ok(finish?.type === 'finish', 'the last event is the finish')
  assert.equal(events.filter(({ type }) => type === 'finish').length, 1, 'there is exactly one finish')
  const calls = readCalls(events)
  const text = pieces.join('')
  if (finish.usage !== undefined) {
    const { prompt_tokens, completion_tokens, total_tokens } = finish.usage
    for (const tokens of [prompt_tokens, completion_tokens, total_tokens]) {
      assert.ok(Number.isInteger(tokens) && tokens >= 0, 'token counts are integers')
    }
    assert.ok(total_tokens >= prompt_tokens + completion_tokens, 'the total includes prompt and completion')
  }
  const message: AssistantMessage = {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(finish.metadata !== undefined && { metadata: finish.metadata }),
  }
  return { events, pieces, text, calls, finish, message }
}

function readCalls(events: readonly ModelEvent[]): ToolCall[] {
  const started = new Map<string, { name: string; text: string; ended: boolean }>()
  const calls: ToolCall[] = []
  for (const event of events) {
    if (event.type === 'tool-call-start') {
      assert.ok(!started.has(event.id), `the id "${event.id}" is unique`)
      assert.notEqual(event.id, '', 'a call has an id')
      started.set(event.id, { name: event.name, text: '', ended: false })
    } else if (event.type === 'tool-call-delta') {
      const call = started.get(event.id)
      assert.ok(call !== undefined && !call.ended, 'arguments come between start and end of their call')
      call.text += event.text
    } else if (event.type === 'tool-call-end') {
      const call = started.get(event.call.id)
      assert.ok(call !== undefined && !call.ended, 'a call ends once, after its start')
      call.ended = true
      assert.equal(event.call.type, 'function')
      assert.equal(event.call.function.name, call.name, 'a call keeps its name')
      if (call.text !== '') assert.equal(event.call.function.arguments, call.text, 'the pieces are the arguments')
      calls.push(event.call)
    }
  }
  return calls
}
