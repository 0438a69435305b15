import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RunEvent } from '../../chat/run.ts'
import type { CallContext } from '../../core/call-context.ts'
import { Cancellation } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import { isTraceparent } from '../../core/traceparent.ts'
import { contextOfRequest } from '../http/context.ts'
import type { EventStream } from '../http/event-stream.ts'

/** What is refused is refused within this time; a model that takes longer to begin is at work. */
const WAIT_MS = 1_000

export type RunEvents = AsyncGenerator<RunEvent, void, undefined>

/** Writes what happens in a run into a stream. */
export interface RunWriter {
  write(event: RunEvent): Promise<void>
  /** Streaming failed. */
  fail(error: unknown): Promise<void>
}

/**
 * Tells a run to a client as it happens. The stream is opened with the first event, or when that takes long: where the
 * run fails at once, or `judge` does not like the event, this rejects, and can be answered with a status.
 */
export async function streamRun(
  { streams, installation }: FastifyInstance,
  reply: FastifyReply,
  events: RunEvents,
  write: (stream: EventStream) => RunWriter,
  judge?: (early: RunEvent) => void,
): Promise<FastifyReply> {
  const first = events.next()
  const early = await soon(first, installation.clock)
  try {
    if (early?.done === false) judge?.(early.value)
  } catch (error) {
    await events.return()
    throw error
  }
  // A client that has gone will never close the stream.
  if (reply.raw.destroyed) {
    await events.return()
    return reply.hijack()
  }
  const stream = streams.start(reply)
  const writer = write(stream)
  try {
    for (let next = await first; next.done !== true; next = await events.next()) await writer.write(next.value)
  } catch (error) {
    await writer.fail(error)
  }
  stream.end()
  return reply
}

/** What comes within a moment; rejects where it fails by then. */
async function soon<Value>(promise: Promise<Value>, clock: Clock): Promise<Value | undefined> {
  const { promise: waited, resolve } = Promise.withResolvers<undefined>()
  const callOff = clock.after(WAIT_MS, () => resolve(undefined))
  try {
    return await Promise.race([promise, waited])
  } finally {
    callOff()
  }
}

/** A run that a client waits for. It is cancelled when the client disconnects or the server shuts down. */
export class ClientRun {
  readonly id = randomUUID()
  readonly context: CallContext
  /** How long a caller who has come to its limit has to wait. */
  waitMs = 0
  readonly #app: FastifyInstance
  readonly #cancellation = new Cancellation()

  constructor(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply, session?: string) {
    const { traceparent } = request.headers
    this.#app = app
    this.context = {
      ...contextOfRequest(request, app.installation, 'rest', session),
      runId: this.id,
      signal: this.#cancellation,
      onRate: ({ waitMs }) => {
        this.waitMs = waitMs
      },
      ...(isTraceparent(traceparent) && { traceparent }),
    }
    app.traffic.calls.add(this.#cancellation)
    if (reply.raw.destroyed) this.#cancellation.abort(undefined)
    else reply.raw.once('close', () => this.#cancellation.abort(undefined))
  }

  /** Lets go of a run that is over. */
  done(): void {
    this.#app.traffic.calls.delete(this.#cancellation)
  }
}
