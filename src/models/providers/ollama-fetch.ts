import { ModelError } from '../model-error.ts'
import { brokenOffFailure, connectionFailure, type OllamaTelling, statusFailure } from './ollama-failure.ts'

/**
 * The `fetch` under Ollama's client. The client passes no signal of ours, prints failures it cannot read on stdout,
 * drops lines that are no JSON, and throws errors that only their text tells apart: all of that is settled here.
 */
export function ollamaFetch(telling: OllamaTelling, signal: AbortSignal | undefined): typeof fetch {
  return async (input, init) => {
    const signals = [init?.signal, signal].filter((one) => one !== undefined && one !== null)
    // A redirect could carry a key elsewhere.
    const options: RequestInit = { ...init, signal: AbortSignal.any(signals), redirect: 'error' }
    const response = await guarded(telling, signal, () => fetch(input, options))
    if (!response.ok) throw await statusFailure(telling, response)
    if (response.body === null || !isStream(init?.body)) return response
    return new Response(ReadableStream.from(checkedLines(telling, signal, response.body)))
  }
}

const isStream = (body: unknown): boolean =>
  typeof body === 'string' && Reflect.get(JSON.parse(body), 'stream') === true

/** The lines of a streamed answer, up to and with the one that says `done`. */
async function* checkedLines(
  telling: OllamaTelling,
  signal: AbortSignal | undefined,
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  const reader = body.getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await guarded(telling, signal, () => reader.read())
      rest += done ? `${decoder.decode()}\n` : decoder.decode(value, { stream: true })
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line.trim() === '') continue
        const isLast = checkLine(telling, line)
        yield encoder.encode(`${line}\n`)
        if (isLast) return
      }
      if (done) throw new ModelError('The answer ended before it was complete. Try again.', { retryable: true })
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Throws where the line is not part of an answer; gives whether it is the last. */
function checkLine(telling: OllamaTelling, line: string): boolean {
  const message = parsed(line)
  if (typeof message !== 'object' || message === null) {
    throw new ModelError(`What was answered is no JSON. Check that providers.${telling.provider}.base_url is Ollama's.`)
  }
  const error: unknown = Reflect.get(message, 'error')
  if (error !== undefined) throw brokenOffFailure(telling, error)
  return Reflect.get(message, 'done') === true
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** A failure on the way is a failed connection, unless the caller has gone away. */
async function guarded<Value>(
  telling: OllamaTelling,
  signal: AbortSignal | undefined,
  step: () => Promise<Value>,
): Promise<Value> {
  try {
    return await step()
  } catch (error) {
    signal?.throwIfAborted()
    throw connectionFailure(telling, error)
  }
}
