import type { FastifyInstance } from 'fastify'
import { streamJob } from '../http/event-stream.ts'
import { found } from '../http/problem.ts'
import { exactly, JOB_ID, list, object, route, TEXT, TIME_OR_NULL } from '../http/route.ts'

const LISTED = {
  id: TEXT,
  tool_name: TEXT,
  caller: { type: ['string', 'null'], description: 'The id of the API key that started it.' },
  state: { enum: ['queued', 'running', 'done', 'cancelled'] },
  timeout_ms: { type: 'number' },
  created_at: TIME_OR_NULL,
  started_at: TIME_OR_NULL,
  ended_at: TIME_OR_NULL,
  progress: { description: 'The latest progress that the tool reported.' },
}

export const JOB_SCHEMA = object(
  { ...LISTED, result: { description: 'The result envelope; null until the job has ended.' } },
  'The job',
)

/** Jobs: tool calls that run in the background. */
export function jobRoutes(app: FastifyInstance): void {
  const { installation, jobs, streams } = app
  app.get<{ Querystring: { limit: number } }>(
    '/api/jobs',
    route('call', 'jobs', 'Lists the newest jobs, without their results', {
      querystring: exactly({ limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 } }),
      response: { 200: object({ jobs: list(LISTED) }, 'The jobs') },
    }),
    async ({ caller, query }) => ({ jobs: await jobs.list(caller, query.limit) }),
  )

  app.get<{ Params: { id: string } }>(
    '/api/jobs/:id',
    route('call', 'jobs', 'Returns a job with its progress and result, or streams them as Server-Sent Events', {
      params: JOB_ID,
      response: { 200: JOB_SCHEMA },
    }),
    async (request, reply) => {
      const { caller, params } = request
      const job = found(await jobs.get(caller, params.id), `Job '${params.id}'`)
      const stream = streams.open(request, reply)
      if (stream === undefined) return job
      await streamJob(stream, jobs.events(caller, params.id, stream.signal), params.id, installation.log)
      return reply
    },
  )

  app.delete<{ Params: { id: string } }>(
    '/api/jobs/:id',
    route('call', 'jobs', 'Cancels a job; a job that has ended does not change', {
      params: JOB_ID,
      response: { 200: JOB_SCHEMA },
    }),
    async ({ caller, params }) => found(await jobs.cancel(caller, params.id), `Job '${params.id}'`),
  )
}
