import type { ModelEvent } from './model.ts'
import { ModelError } from './model-error.ts'

const MAX_TEXT = 4 * 1024 * 1024
const MAX_ARGUMENTS = 1024 * 1024
const MAX_CALLS = 512

/** Limits what a model says in one turn. */
export class TurnBounds {
  #text = 0
  #arguments = 0
  #calls = 0

  /** Throws a `ModelError` if the event exceeds a limit. */
  check(event: ModelEvent): void {
    if (event.type === 'text-delta') this.#text += event.text.length
    else if (event.type === 'tool-call-delta') this.#arguments += event.text.length
    else if (event.type === 'tool-call-start') this.#calls++
    const long = event.type === 'tool-call-end' && event.call.function.arguments.length > MAX_ARGUMENTS
    if (this.#text > MAX_TEXT || this.#arguments > MAX_TEXT) throw exceeded(`${MAX_TEXT} characters`)
    if (long) throw exceeded(`${MAX_ARGUMENTS} characters of arguments for one call`)
    if (this.#calls > MAX_CALLS) throw exceeded(`${MAX_CALLS} calls in one turn`)
  }
}

const MAX_ERROR_BYTES = 1024 * 1024
const MAX_BODY_BYTES = 32 * 1024 * 1024
const MAX_LINE_BYTES = 16 * 1024 * 1024
const MAX_STREAM_BYTES = 128 * 1024 * 1024
const STREAMED = /^(?:text\/event-stream|application\/x-ndjson)/i
const NEWLINE = 10

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/**
 * `fetch` for providers: limits the bytes of a response after decompression, and follows no redirect, which could send the
 * key elsewhere. The call or the body fails with a `ModelError`.
 */
export const boundedFetch = (send?: typeof fetch): typeof fetch => {
  return async (url, init) => {
    const response = await (send ?? fetch)(url, { ...init, redirect: 'manual' })
    if (!REDIRECTS.has(response.status)) return bounded(response)
    await response.body?.cancel()
    throw new ModelError(
      'The provider redirects to another address, which would get the key. Check the base_url: it has to be the final one.',
      { status: 502 },
    )
  }
}

function bounded(response: Response): Response {
  if (response.body === null) return response
  const isStream = STREAMED.test(response.headers.get('content-type') ?? '')
  const limit = !response.ok ? MAX_ERROR_BYTES : isStream ? MAX_STREAM_BYTES : MAX_BODY_BYTES
  let bytes = 0
  let line = 0
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length
      const end = chunk.lastIndexOf(NEWLINE)
      line = end === -1 ? line + chunk.length : chunk.length - end - 1
      if (bytes > limit) controller.error(exceeded(`${limit} bytes`))
      else if (isStream && line > MAX_LINE_BYTES) controller.error(exceeded(`${MAX_LINE_BYTES} bytes in one line`))
      else controller.enqueue(chunk)
    },
  })
  return new Response(response.body.pipeThrough(counted), response)
}

const exceeded = (what: string) =>
  new ModelError(`The model answered with more than ${what}, which is over the limit. Ask for less.`, { status: 502 })
