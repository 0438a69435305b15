import type { ModelEvent } from './model.ts'
import { ModelError } from './model-error.ts'

/**
 * Holds a stream to its promise: exactly one finish, and it is the last; any call means `tool_calls`; a stream that
 * ends without a finish is a failure.
 */
export async function* settled(events: AsyncIterable<ModelEvent>): AsyncGenerator<ModelEvent, void, undefined> {
  let calls = 0
  for await (const event of events) {
    if (event.type === 'tool-call-end') calls++
    if (event.type === 'finish') {
      yield calls > 0 && event.reason !== 'tool_calls' ? { ...event, reason: 'tool_calls' } : event
      return
    }
    yield event
  }
  throw new ModelError('The answer broke off: the stream ended without a finish. Try again', { retryable: true })
}
