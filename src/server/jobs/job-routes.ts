import type { FastifyInstance } from 'fastify'
import { writeLog } from '../../core/log.ts'
import { HttpProblem } from '../http/problem.ts'
import type { JobView } from './job-run.ts'

const TIME = { type: ['string', 'null'], format: 'date-time' }

const LISTED = {
  id: { type: 'string' },
  tool_name: { type: 'string' },
  caller: { type: ['string', 'null'], description: 'The id of the key that started it.' },
  state: { enum: ['queued', 'running', 'done', 'cancelled'] },
  timeout_ms: { type: 'number' },
  created_at: TIME,
  started_at: TIME,
  ended_at: TIME,
  progress: { description: 'What the tool reported last.' },
}

/** A job as it is answered. */
export const JOB_SCHEMA = {
  type: 'object',
  properties: { ...LISTED, result: { description: 'The envelope, when it is over; null before.' } },
}

const LIST = {
  description: 'The jobs',
  type: 'object',
  properties: { jobs: { type: 'array', items: { type: 'object', properties: LISTED } } },
}

const BY_ID = {
  type: 'object',
  properties: { id: { type: 'string', pattern: '^[\\w-]{1,64}$' } },
  required: ['id'],
}

const LIST_QUERY = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
  },
  additionalProperties: false,
}

/** Work in the background: what there is, how far it is, and how to end it. */
export function jobRoutes(app: FastifyInstance): void {
  const { installation, jobs, streams } = app
  app.get<{ Querystring: { limit: number } }>(
    '/api/jobs',
    {
      config: { scope: 'call' },
      schema: {
        summary: 'The newest jobs, without their results',
        tags: ['jobs'],
        querystring: LIST_QUERY,
        response: { 200: LIST },
      },
    },
    async ({ caller, query }) => ({ jobs: await jobs.list(caller, query.limit) }),
  )

  app.get<{ Params: { id: string } }>(
    '/api/jobs/:id',
    {
      config: { scope: 'call' },
      schema: {
        summary: 'A job: its state, its progress and its result; as events where text/event-stream is accepted',
        tags: ['jobs'],
        params: BY_ID,
        response: { 200: { description: 'The job', ...JOB_SCHEMA } },
      },
    },
    async (request, reply) => {
      const { caller, params } = request
      const job = found(await jobs.get(caller, params.id), params.id)
      const stream = streams.open(request, reply)
      if (stream === undefined) return job
      try {
        for await (const { event, data } of jobs.events(caller, params.id, stream.signal))
          await stream.send(event, data)
      } catch (err) {
        // There is no other way left to say it: the stream ends without a result.
        writeLog(installation.log, 'error', { err, job: params.id }, 'Streaming a job failed')
      }
      stream.end()
      return reply
    },
  )

  app.delete<{ Params: { id: string } }>(
    '/api/jobs/:id',
    {
      config: { scope: 'call' },
      schema: {
        summary: 'Ends a job; one that has ended stays as it is',
        tags: ['jobs'],
        params: BY_ID,
        response: { 200: { description: 'The job', ...JOB_SCHEMA } },
      },
    },
    async ({ caller, params }) => found(await jobs.cancel(caller, params.id), params.id),
  )
}

function found(job: JobView | undefined, id: string): JobView {
  if (job === undefined) throw new HttpProblem(404, `Job '${id}' not found`)
  return job
}
