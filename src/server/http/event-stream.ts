import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../core/clock.ts'

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

const HEARTBEAT_MS = 15_000
const PATIENCE_MS = 30_000
const MOST_WAITING_BYTES = 1024 * 1024

/** Server-Sent Events to one client. A client that does not take them is cut off. */
export class EventStream {
  readonly #response: ServerResponse
  readonly #clock: Clock
  readonly #gone = new AbortController()
  #stopHeartbeat: () => void
  /** While the client is behind: when it has caught up, and what cuts it off before. */
  #behind: { readonly caughtUp: Promise<void>; readonly stop: () => void } | undefined

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response
    this.#clock = clock
    this.#stopHeartbeat = clock.after(HEARTBEAT_MS, this.#beat)
    response.on('error', () => {})
    response.once('close', () => {
      this.#stopHeartbeat()
      this.#behind?.stop()
      this.#gone.abort()
    })
    response.flushHeaders()
  }

  /** Aborts when the client has gone, or the stream has ended. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /** Sends an event, its data as JSON; settles when there is room for the next. Nothing is sent to who has gone. */
  send(event: string, data: unknown): Promise<void> {
    return this.#write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  /** Sends an event that has no name, its data as they stand: one line. */
  sendText(data: string): Promise<void> {
    return this.#write(`data: ${data}\n\n`)
  }

  /** Ends the stream behind what has been sent. */
  end(): void {
    this.#stopHeartbeat()
    if (!this.#response.writableEnded) this.#response.end()
    this.#gone.abort()
  }

  readonly #beat = (): void => {
    void this.#write(': still here\n\n')
    if (!this.#response.writableEnded) this.#stopHeartbeat = this.#clock.after(HEARTBEAT_MS, this.#beat)
  }

  #write(text: string): Promise<void> {
    const { destroyed, writableEnded, writableLength } = this.#response
    if (destroyed || writableEnded) return Promise.resolve()
    if (writableLength > MOST_WAITING_BYTES) {
      this.#response.destroy()
      return Promise.resolve()
    }
    if (this.#response.write(text)) return Promise.resolve()
    this.#behind ??= this.#wait()
    return this.#behind.caughtUp
  }

  #wait(): { readonly caughtUp: Promise<void>; readonly stop: () => void } {
    const callOff = this.#clock.after(PATIENCE_MS, () => this.#response.destroy())
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = (): void => {
      this.#response.off('drain', stop)
      callOff()
      this.#behind = undefined
      resolve()
    }
    this.#response.once('drain', stop)
    return { caughtUp: promise, stop }
  }
}
