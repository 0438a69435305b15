import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, mayRead } from '../../app/callers/callers.ts'
import { keyedRunId } from '../../app/durable/durable-run-data.ts'
import type { RunAnswer } from '../../chat/run.ts'
import { canonicalText } from '../../core/json/canonical-text.ts'
import { writeLog } from '../../core/log.ts'
import type { DurableRun } from '../../core/storage/durable-run-store.ts'
import { ONE_TENANT_QUERY, oneTenantAsked } from '../http/context.ts'
import { HttpProblem } from '../http/problem.ts'
import { exactly, object, pathParameter, RESPOND_ASYNC, route, TEXT } from '../http/route.ts'

export const RUN_ID = pathParameter('id', 200)
export const RUN_QUERY = exactly(ONE_TENANT_QUERY)

export interface OneRun {
  Params: { id: string }
  Querystring: { tenant?: string }
}

/** The headers that start a durable run. */
export const START_HEADERS = {
  'idempotency-key': {
    type: 'string',
    minLength: 1,
    maxLength: 255,
    description: 'For durable runs: a repeated request with the same key gets the run of the first one.',
  },
  prefer: {
    type: 'string',
    description: 'respond-async: the run is durable, and the response is 202 with its location.',
  },
} as const

/** How a durable run is started. */
export interface Start {
  /** Set if an idempotency key names the run. */
  readonly id?: string
  readonly fingerprint?: string
  /** The client doesn't wait for the answer. */
  readonly async: boolean
}

export function startOf({ headers, caller }: FastifyRequest, asked: object): Start {
  const { 'idempotency-key': key, prefer } = headers
  const async = RESPOND_ASYNC.test(String(prefer ?? ''))
  if (key === undefined) return { async }
  const fingerprint = hash('sha256', canonicalText(asked))
  return { id: keyedRunId(caller.tenant, caller.id, String(key)), fingerprint, async }
}

/** The run that the same request started before, with its answer if it waits or has ended. */
export async function startedBefore(
  { installation: { durableRuns } }: FastifyInstance,
  { tenant }: Caller,
  { id, fingerprint }: Start,
): Promise<{ readonly run: DurableRun; readonly answer: RunAnswer | undefined } | undefined> {
  const run = id === undefined ? undefined : await durableRuns.get(tenant, id)
  if (run === undefined) return undefined
  if (run.fingerprint !== fingerprint) {
    throw new HttpProblem(400, 'The idempotency key was used for another run: use a new key')
  }
  return { run, answer: durableRuns.answerOf(run) }
}

/** Answers 202 while the run works, and its answer after that. */
export function answerStarted(reply: FastifyReply, run_id: string, status = 'running', answer?: RunAnswer) {
  reply.header('location', `/api/runs/${run_id}`)
  return reply.code(status === 'running' ? 202 : 200).send({ ...answer, run_id, status })
}

export function runNotFound({ server, caller, params: { id } }: FastifyRequest<OneRun>): HttpProblem {
  const { storage, events } = server.installation
  if (!caller.scopes.has('installation')) {
    const owner = storage.runs.tenantOf(id).then((tenant) => tenant ?? storage.durableRuns.tenantOf(id))
    events.crossed(caller, `run ${id}`, owner)
  }
  return new HttpProblem(404, `Run '${id}' not found`)
}

/** The durable run of a request, if the caller may read it. */
export async function durableRunOf(request: FastifyRequest<OneRun>): Promise<DurableRun | undefined> {
  const tenant = oneTenantAsked(request as FastifyRequest, request.query.tenant, 'Runs')
  const run = await request.server.installation.durableRuns.get(tenant, request.params.id)
  return mayRead(request.caller, run) ? run : undefined
}

/** The id of the last event of a run. */
const END = 'end'

/** Durable runs: following and cancelling them. */
export function durableRunRoutes(app: FastifyInstance): void {
  const { installation, streams } = app
  const { durableRuns, log } = installation

  app.delete<OneRun>(
    '/api/runs/:id',
    route('chat', 'runs', 'Cancels a durable run; a run that has ended does not change', {
      description: "Another caller's run needs the scope `observe`, too.",
      params: RUN_ID,
      querystring: RUN_QUERY,
      response: { 200: object({ id: TEXT, status: TEXT }) },
    }),
    async (request) => {
      const run = await durableRunOf(request)
      if (run === undefined) throw runNotFound(request)
      const cancelled = await durableRuns.cancel(run)
      return { id: run.id, status: cancelled ? 'cancelled' : run.status }
    },
  )

  const events = route(['chat', 'observe'], 'runs', 'Streams the steps of a durable run as Server-Sent Events', {
    params: RUN_ID,
    querystring: RUN_QUERY,
    headers: object({
      'last-event-id': {
        type: 'string',
        pattern: `^(\\d{1,9}|${END})$`,
        description: 'Continues after this event. 204 if it was the last one.',
      },
    }),
  })
  app.get<OneRun>(
    '/api/runs/:id/events',
    { ...events, config: { ...events.config, stays: true } },
    async (request, reply) => {
      const { caller, headers } = request
      const run = await durableRunOf(request)
      if (run === undefined) throw runNotFound(request)
      const last = headers['last-event-id'] ?? 0
      if (last === END) return reply.code(204).send()
      const stream = streams.start(reply)
      try {
        for await (const { event, data, id } of durableRuns.events(run, Number(last), stream.signal)) {
          // Observers see the redacted steps only.
          const { status } = data as { status?: string }
          const shown = status === undefined || run.caller === caller.id ? data : { run_id: run.id, status }
          await stream.send(event, shown, id ?? (event === END ? END : undefined))
        }
      } catch (err) {
        writeLog(log, 'error', { err, run_id: run.id }, 'Streaming a durable run failed')
      }
      stream.end()
      return reply
    },
  )
}
