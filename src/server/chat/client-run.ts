import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CallContext } from '../../core/call-context.ts'
import { Cancellation } from '../../core/cancellation.ts'
import { isTraceparent } from '../../core/traceparent.ts'
import { contextOfRequest } from '../caller-of-request.ts'
import type { Service } from '../service.ts'

/** A run that a client waits for: it is called off when the client hangs up, or the server has to end. */
export class ClientRun {
  readonly id = randomUUID()
  readonly context: CallContext
  /** How long a caller who has come to its limit has to wait. */
  waitMs = 0
  readonly #service: Service
  readonly #cancellation = new Cancellation()

  constructor(service: Service, request: FastifyRequest, reply: FastifyReply, session?: string) {
    const { traceparent } = request.headers
    this.#service = service
    this.context = {
      ...contextOfRequest(request, service.installation, 'rest', session),
      runId: this.id,
      signal: this.#cancellation,
      onRate: ({ waitMs }) => {
        this.waitMs = waitMs
      },
      ...(isTraceparent(traceparent) && { traceparent }),
    }
    service.traffic.calls.add(this.#cancellation)
    if (reply.raw.destroyed) this.#cancellation.abort(undefined)
    else reply.raw.once('close', () => this.#cancellation.abort(undefined))
  }

  /** Lets go of a run that is over. */
  done(): void {
    this.#service.traffic.calls.delete(this.#cancellation)
  }
}
