import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Installation } from '../../app/installation.ts'
import type { Clock } from '../../core/clock.ts'
import { Linked } from '../../core/linked.ts'
import { type Log, writeLog } from '../../core/log.ts'

const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

/** Whether a request accepts Server-Sent Events. */
export const acceptsEvents = ({ headers }: { readonly headers: IncomingHttpHeaders }): boolean =>
  headers.accept?.includes('text/event-stream') === true

/** The open event streams of this server. */
export class Streams {
  readonly #installation: Pick<Installation, 'clock' | 'callers'>
  readonly #open = new Linked<{ readonly stream: EventStream; readonly caller: string }>()

  constructor(installation: Pick<Installation, 'clock' | 'callers'>) {
    this.#installation = installation
  }

  get size(): number {
    return this.#open.size
  }

  /** Opens a stream if the request accepts one. The stream then owns the reply. */
  open(request: FastifyRequest, reply: FastifyReply): EventStream | undefined {
    return acceptsEvents(request) ? this.start(reply) : undefined
  }

  /** Opens a stream whatever the request accepts. */
  start(reply: FastifyReply): EventStream {
    const { raw: response, request } = reply
    const { clock, callers } = this.#installation
    reply.hijack()
    response.writeHead(200, { ...(reply.getHeaders() as OutgoingHttpHeaders), ...STREAM_HEADERS })
    const stream = new EventStream(response, clock)
    response.once('close', this.#open.add({ stream, caller: request.caller.id }))
    // The key may have ended since the request was authenticated.
    if (!callers.isValid(request.caller.id)) stream.end()
    return stream
  }

  /** Sends the streams of these callers, or all, a last event and ends them, which aborts their signals. */
  end(event: string, data: { readonly error: string }, callers?: ReadonlySet<string>): void {
    for (const { stream, caller } of this.#open) {
      if (callers?.has(caller) === false) continue
      void stream.farewell(event, data)
      stream.end()
    }
  }
}

/** Sends the events of a job and ends the stream. After an error the stream ends without a result. */
export async function streamJob(
  stream: EventStream,
  events: AsyncIterable<{ readonly event: string; readonly data: unknown }>,
  job: string,
  log: Log,
): Promise<void> {
  try {
    for await (const { event, data } of events) await stream.send(event, data)
  } catch (err) {
    writeLog(log, 'error', { err, job }, 'Streaming a job failed')
  }
  stream.end()
}

const HEARTBEAT_MS = 15_000
const SLOW_CLIENT_TIMEOUT_MS = 30_000
const MAX_PENDING_BYTES = 1024 * 1024

/** Server-Sent Events to one client. A client that reads too slowly is disconnected. */
export class EventStream {
  readonly #response: ServerResponse
  readonly #clock: Clock
  readonly #gone = new AbortController()
  #stopHeartbeat: () => void
  /** Set while the client is behind. */
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

  /** Aborts when the client disconnects or the stream ends. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /** Sends an event with JSON data. Settles when there is room for the next one, or the client has disconnected. */
  send(event: string, data: unknown, id?: string | number): Promise<void> {
    const named = id === undefined ? '' : `id: ${id}\n`
    return this.#write(`event: ${event}\n${named}data: ${JSON.stringify(data)}\n\n`)
  }

  /** Sends the last event if the server ends the stream. A format without named events replaces this. */
  farewell: (event: string, data: { readonly error: string }) => Promise<void> = (event, data) => this.send(event, data)

  /** Sends an unnamed event with one line of text. */
  sendText(data: string): Promise<void> {
    return this.#write(`data: ${data}\n\n`)
  }

  /** Ends the stream after all events sent so far. */
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
    if (writableLength > MAX_PENDING_BYTES) {
      this.#response.destroy()
      return Promise.resolve()
    }
    if (this.#response.write(text)) return Promise.resolve()
    this.#behind ??= this.#wait()
    return this.#behind.caughtUp
  }

  #wait(): { readonly caughtUp: Promise<void>; readonly stop: () => void } {
    const cancel = this.#clock.after(SLOW_CLIENT_TIMEOUT_MS, () => this.#response.destroy())
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = (): void => {
      this.#response.off('drain', stop)
      cancel()
      this.#behind = undefined
      resolve()
    }
    this.#response.once('drain', stop)
    return { caughtUp: promise, stop }
  }
}
