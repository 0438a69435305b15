import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { EventStream } from './event-stream.ts'

const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

/** Whether a request wants its answer as Server-Sent Events. */
export const acceptsEvents = ({ headers }: { readonly headers: IncomingHttpHeaders }): boolean =>
  headers.accept?.includes('text/event-stream') === true

/** The open streams of events of this server. */
export class Streams {
  readonly #clock: Clock
  readonly #open = new Set<EventStream>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#open.size
  }

  /** A stream of events, where the request accepts one; the reply is the stream's from then on. */
  open(request: FastifyRequest, reply: FastifyReply): EventStream | undefined {
    return acceptsEvents(request) ? this.start(reply) : undefined
  }

  /** A stream of events, whatever the request says that it accepts. */
  start(reply: FastifyReply): EventStream {
    reply.hijack()
    return this.over(reply.raw, reply.getHeaders() as OutgoingHttpHeaders)
  }

  /** A stream of events over a response that nobody else writes to. */
  over(response: ServerResponse, headers: OutgoingHttpHeaders): EventStream {
    response.writeHead(200, { ...headers, ...STREAM_HEADERS })
    const stream = new EventStream(response, this.#clock)
    this.#open.add(stream)
    response.once('close', () => this.#open.delete(stream))
    return stream
  }

  /** Sends each stream a last event and ends it; who feeds it is told by its signal. */
  endAll(event: string, data: unknown): void {
    for (const stream of this.#open) {
      void stream.send(event, data)
      stream.end()
    }
  }
}
