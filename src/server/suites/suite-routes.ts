import type { FastifyInstance } from 'fastify'
import { writeLog } from '../../core/log.ts'
import { HttpProblem } from '../http/problem.ts'
import type { SuiteRequest, SuiteRunView } from '../http/views.ts'
import { isWritable, knownSuites, offeredTools } from './known-suites.ts'
import { SuiteRuns } from './suite-runs.ts'

const TIME = { type: ['string', 'null'], format: 'date-time' } as const
const COUNT = { type: 'integer', minimum: 0 } as const

const SUITES_SCHEMA = {
  description: 'The suites',
  type: 'object',
  properties: {
    suites: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'string', examples: ['generated', 'weather.json', 'bfcl:simple_python'] },
          kind: { enum: ['generated', 'file', 'bfcl'] },
          name: { type: 'string', description: 'What it is called in reports.' },
          cases: { ...COUNT, description: 'Of a file; of the others it is found out when they are made.' },
          remark: { type: 'string', description: 'What must be said beside its figures.' },
          problem: { type: 'string', description: 'Why it cannot be run, and what to do.' },
        },
      },
    },
    folder: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'In the data folder: its .json and .jsonl files are suites.' },
        writable: { type: 'boolean', description: 'Whether this server could write there.' },
      },
    },
  },
} as const

/** What is to be run. */
const SUITE_REQUEST = {
  type: 'object',
  required: ['models', 'suites'],
  additionalProperties: false,
  properties: {
    models: {
      type: 'array',
      minItems: 1,
      maxItems: 10,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 300 },
      examples: [['openai:gpt-4o']],
    },
    suites: {
      type: 'array',
      minItems: 1,
      maxItems: 20,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 300 },
      examples: [['generated']],
      description: 'As GET /api/suites names them.',
    },
    repeat: { type: 'integer', minimum: 1, maximum: 100, description: 'How often each case is put; 1 if not given.' },
    limit: { type: 'integer', minimum: 1, maximum: 10_000, description: 'Only the first cases of each suite.' },
    budget: {
      type: 'number',
      minimum: 0,
      maximum: 1_000,
      description: 'What all models may cost together, in USD; 1 if not given.',
    },
    budget_tokens: { type: 'integer', minimum: 1, description: 'What all models may use together, in tokens.' },
    fresh: { type: 'boolean', description: 'Makes all trials anew, also those that a run of the same made before.' },
  },
} as const

const ESTIMATE_SCHEMA = {
  description: 'About what it would use up',
  type: 'object',
  properties: {
    trials: COUNT,
    made_before: { ...COUNT, description: 'By a run of the same that was broken off; these are not made again.' },
    tokens: COUNT,
    cost: { type: ['number', 'null'], description: 'In USD; null where no model has a price.' },
    free: { type: 'boolean', description: 'Whether it costs nothing, for certain.' },
    unpriced: { type: 'array', items: { type: 'string' }, description: 'The models whose price is not known.' },
    most: {
      type: 'object',
      description: 'What is used up at the most.',
      properties: { cost: { type: 'number' }, tokens: { type: ['integer', 'null'] } },
    },
  },
} as const

const PROGRESS = {
  type: ['object', 'null'],
  description: 'How far it is: trials planned, made before and made now, what was used, each model, the latest trials.',
  additionalProperties: true,
} as const

const LISTED = {
  id: { type: 'string' },
  state: { enum: ['queued', 'running', 'done', 'cancelled'] },
  caller: { type: ['string', 'null'], description: 'The id of the key that started it.' },
  created_at: TIME,
  started_at: TIME,
  ended_at: TIME,
  request: SUITE_REQUEST,
  progress: PROGRESS,
  error: { type: ['string', 'null'], description: 'Why nothing came of it, where that is so.' },
} as const

const STARTED_SCHEMA = { description: 'The run', type: 'object', properties: LISTED } as const

const SUITE_RUNS_SCHEMA = {
  description: 'The runs',
  type: 'object',
  properties: { runs: { type: 'array', items: { type: 'object', properties: LISTED } } },
} as const

const SUITE_RUN_SCHEMA = {
  description: 'The run',
  type: 'object',
  properties: {
    ...LISTED,
    report: {
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'What came of it, as toolyard validate --json gives it; null as long as it runs.',
    },
  },
} as const

const BY_ID = {
  type: 'object',
  properties: { id: { type: 'string', pattern: '^[\\w-]{1,64}$' } },
  required: ['id'],
} as const

/** Suites: which there are, and models put through them. */
export function suiteRoutes(app: FastifyInstance): void {
  const { installation, jobs, streams } = app
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
        writeLog(installation.log, 'error', { err, run: params.id }, 'Streaming a suite run failed')
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
