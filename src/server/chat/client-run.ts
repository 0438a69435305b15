import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RunEvent } from '../../chat/run.ts'
import type { CallContext } from '../../core/call-context.ts'
import { Cancellation } from '../../core/cancellation.ts'
import { within } from '../../core/clock.ts'
import { isTraceparent } from '../../core/records/tracer.ts'
import { contextOfRequest } from '../http/context.ts'
import type { EventStream } from '../http/event-stream.ts'

/** A run that fails later than this fails inside the stream. */
const FIRST_EVENT_TIMEOUT_MS = 1_000

export type RunEvents = AsyncGenerator<RunEvent, void, undefined>

/** Writes the events of a run to a stream. */
export interface RunWriter {
  write(event: RunEvent): Promise<void>
  /** Reports an error after the stream was opened. */
  fail(error: unknown): Promise<void>
}

/**
 * Streams a run to a client. The stream is opened with the first event, or after a timeout. Before that, an error of the
 * run or of `judge` rejects, so that the response can have an error status.
 */
export async function streamRun(
  { streams, installation }: FastifyInstance,
  reply: FastifyReply,
  events: RunEvents,
  write: (stream: EventStream) => RunWriter,
  judge?: (early: RunEvent) => void,
): Promise<void> {
  const first = events.next()
  const early = await within(FIRST_EVENT_TIMEOUT_MS, first, installation.clock)
  try {
    if (early?.done === false) judge?.(early.value)
  } catch (error) {
    await events.return()
    throw error
  }
  // The client has disconnected: nothing would close the stream.
  if (reply.raw.destroyed) {
    await events.return()
    reply.hijack()
    return
  }
  const stream = streams.start(reply)
  const writer = write(stream)
  try {
    for (let next = await first; next.done !== true; next = await events.next()) await writer.write(next.value)
  } catch (error) {
    await writer.fail(error)
  }
  stream.end()
}

/** A run that a client waits for. It is cancelled when the client disconnects or the server shuts down. */
export class ClientRun {
  readonly id: string
  readonly context: CallContext
  /** How long a rate-limited caller has to wait. */
  waitMs = 0
  /** Must be called when the run has ended. */
  readonly done: () => void
  readonly #cancellation = new Cancellation()

  constructor(
    app: FastifyInstance,
    request: FastifyRequest,
    reply: FastifyReply,
    {
      session,
      id = randomUUID(),
      stores,
    }: { session?: string | undefined; id?: string | undefined; stores?: boolean } = {},
  ) {
    this.id = id
    const { traceparent } = request.headers
    this.context = {
      ...contextOfRequest(request, app.installation, 'rest', session),
      runId: this.id,
      stores,
      signal: this.#cancellation,
      onRate: ({ waitMs }) => {
        this.waitMs = waitMs
      },
      traceparent: isTraceparent(traceparent) ? traceparent : undefined,
    }
    this.done = app.traffic.begin(this.#cancellation, request.caller.id)
    if (reply.raw.destroyed) this.#cancellation.abort(undefined)
    else reply.raw.once('close', () => this.#cancellation.abort(undefined))
  }
}
