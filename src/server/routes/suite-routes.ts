import type { FastifyInstance } from 'fastify'
import { writeLog } from '../../core/log.ts'
import { HttpProblem } from '../http-problem.ts'
import type { Service } from '../service.ts'
import { isWritable, knownSuites } from '../suites/known-suites.ts'
import { offeredTools } from '../suites/prepare-suites.ts'
import type { SuiteRequest } from '../suites/suite-request.ts'
import { SuiteRuns } from '../suites/suite-runs.ts'
import type { SuiteRunView } from '../suites/suite-views.ts'
import {
  BY_ID,
  ESTIMATE_SCHEMA,
  STARTED_SCHEMA,
  SUITE_REQUEST,
  SUITE_RUN_SCHEMA,
  SUITE_RUNS_SCHEMA,
  SUITES_SCHEMA,
} from './suite-schemas.ts'

/** Suites: which there are, and models put through them. */
export function suiteRoutes(app: FastifyInstance, { installation, jobs, streams }: Service): void {
  const runs = new SuiteRuns(installation, jobs)

  app.get(
    '/api/suites',
    {
      config: { scope: 'validate' },
      schema: { summary: 'The suites that can be run', tags: ['models'], response: { 200: SUITES_SCHEMA } },
    },
    async ({ caller }) => ({
      suites: await knownSuites(installation, offeredTools(installation, caller.tenant)),
      folder: { name: 'suites', writable: await isWritable(installation) },
    }),
  )

  app.post<{ Body: SuiteRequest }>(
    '/api/validations/estimate',
    {
      config: { scope: 'validate' },
      schema: {
        summary: 'About what a run of suites would use up; nothing is asked',
        tags: ['models'],
        body: SUITE_REQUEST,
        response: { 200: ESTIMATE_SCHEMA },
      },
    },
    ({ caller, body }) => runs.estimate(caller, body),
  )

  app.post<{ Body: SuiteRequest }>(
    '/api/validations/runs',
    {
      config: { scope: 'validate' },
      schema: {
        summary: 'Runs suites with models, as toolyard validate does; one run of a tenant at a time',
        tags: ['models'],
        body: SUITE_REQUEST,
        response: { 202: STARTED_SCHEMA },
      },
    },
    async ({ caller, body }, reply) => {
      const run = await runs.start(caller, body)
      return reply.code(202).header('location', `/api/validations/runs/${run.id}`).send(run)
    },
  )

  app.get(
    '/api/validations/runs',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'The newest runs of suites, without what came of each trial',
        tags: ['models'],
        response: { 200: SUITE_RUNS_SCHEMA },
      },
    },
    async ({ caller }) => ({ runs: await runs.list(caller) }),
  )

  app.get<{ Params: { id: string } }>(
    '/api/validations/runs/:id',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'A run of suites: how far it is, and what came of it; as events where text/event-stream is accepted',
        tags: ['models'],
        params: BY_ID,
        response: { 200: SUITE_RUN_SCHEMA },
      },
    },
    async (request, reply) => {
      const { caller, params } = request
      const run = found(await runs.get(caller, params.id), params.id)
      const stream = streams.open(request, reply)
      if (stream === undefined) return run
      try {
        for await (const { event, data } of runs.events(caller, params.id, stream.signal)) {
          await stream.send(event, data)
        }
      } catch (err) {
        // There is no other way left to say it: the stream ends without a result.
        writeLog(installation.log, 'error', { err, run: params.id }, 'A run of suites could not be followed to its end')
      }
      stream.end()
      return reply
    },
  )

  app.delete<{ Params: { id: string } }>(
    '/api/validations/runs/:id',
    {
      config: { scope: 'validate' },
      schema: {
        summary: 'Ends a run of suites; what was found out until then stays',
        tags: ['models'],
        params: BY_ID,
        response: { 200: SUITE_RUN_SCHEMA },
      },
    },
    async ({ caller, params }) => found(await runs.cancel(caller, params.id), params.id),
  )
}

function found(run: SuiteRunView | undefined, id: string): SuiteRunView {
  if (run === undefined) throw new HttpProblem(404, `Run '${id}' not found`, 'GET /api/validations/runs lists them')
  return run
}
