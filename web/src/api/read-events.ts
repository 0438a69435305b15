import { createParser } from 'eventsource-parser'
import { ApiProblem } from './api-problem.ts'
import { serverIsAway } from './connection.ts'
import { type RequestOptions, request } from './request.ts'

/** A Server-Sent Event with parsed data. */
export interface ServerEvent {
  readonly event: string
  readonly data: unknown
}

/** Streams the events of a request. Rejects if the stream breaks off. */
export async function* readEvents(path: string, options: RequestOptions): AsyncGenerator<ServerEvent> {
  const response = await request(path, { ...options, accept: 'text/event-stream' })
  const waiting: ServerEvent[] = []
  const parser = createParser({
    onEvent: ({ event = 'message', data }) => waiting.push({ event, data: JSON.parse(data) }),
  })
  const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>)
    .pipeThrough(new TextDecoderStream())
    .getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (value !== undefined) parser.feed(value)
      yield* waiting.splice(0)
      if (done) return
    }
  } catch (error) {
    if (options.signal?.aborted) throw error
    serverIsAway()
    throw new ApiProblem(0, 'The connection to the server was lost')
  } finally {
    void reader.cancel().catch(() => {})
  }
}
