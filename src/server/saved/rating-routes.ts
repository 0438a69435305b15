import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { type Caller, mayRead } from '../../app/callers/callers.ts'
import { redactText } from '../../core/records/redact.ts'
import type { ListedItem } from '../../core/storage/item-store.ts'
import { found, HttpProblem } from '../http/problem.ts'
import { exactly, list, object, pathParameter, route, TEXT, TIME } from '../http/route.ts'
import type { RatedTrial, Rating } from '../http/views.ts'
import { SUITES } from '../suites/suite-runs.ts'

const MAX_COMMENT = 2_000
const MAX_RATINGS = 10_000
const MAX_LISTED = 200

const ID = { type: 'string', minLength: 1, maxLength: 200 }
const VERDICT = { enum: ['good', 'bad'] }
const TRIAL = {
  type: 'object',
  required: ['suite', 'model', 'case', 'repetition'],
  additionalProperties: false,
  properties: {
    suite: ID,
    model: { ...ID, maxLength: 300 },
    case: { ...ID, maxLength: 300 },
    repetition: { type: 'integer', minimum: 1, maximum: 100 },
  },
  description: 'The trial of a suite run.',
}
const RATING = {
  id: TEXT,
  run_id: TEXT,
  suite_run_id: TEXT,
  trial: TRIAL,
  verdict: VERDICT,
  comment: TEXT,
  by: { type: 'string', description: 'The name of the key or the user.' },
  own: { type: 'boolean', description: 'Whether it is yours.' },
  at: TIME,
}

interface Subject {
  readonly run_id?: string | undefined
  readonly suite_run_id?: string | undefined
  readonly trial?: RatedTrial | undefined
}

interface RatingBody extends Subject {
  readonly verdict: 'good' | 'bad'
  readonly comment?: string
}

/** What people think of answers: one rating of each person for each run or trial. */
export function ratingRoutes(app: FastifyInstance): void {
  const { installation, jobs } = app
  const { items, runs } = installation.storage

  /** Throws 404 if the caller may not see what is rated. */
  const requireSubject = async (caller: Caller, { run_id, suite_run_id, trial }: Subject): Promise<void> => {
    if (run_id !== undefined) {
      await installation.settle()
      const run = await runs.get(caller.tenant, run_id)
      found(mayRead(caller, run) ? run : undefined, `Run '${run_id}'`)
      return
    }
    if (!caller.scopes.has('observe')) throw new HttpProblem(403, "Rating a suite run needs the scope 'observe'")
    const job = await jobs.getTask(caller, suite_run_id ?? '', SUITES)
    const report = job?.result?.success ? (job.result.result as { readonly trials?: readonly RatedTrial[] }) : undefined
    const isThere = report?.trials?.some((one) => partOf(one) === partOf(trial))
    found(isThere || undefined, `The trial of suite run '${suite_run_id}'`)
  }

  app.get<{ Querystring: Pick<Subject, 'run_id' | 'suite_run_id'> & { verdict?: string; limit: number } }>(
    '/api/ratings',
    route(
      ['chat', 'observe'],
      'runs',
      'Lists ratings of answers, newest first; without the scope `observe`, your own',
      {
        querystring: exactly({
          run_id: ID,
          suite_run_id: ID,
          verdict: VERDICT,
          limit: { type: 'integer', minimum: 1, maximum: 1_000, default: MAX_LISTED },
        }),
        response: { 200: object({ ratings: list(RATING) }) },
      },
    ),
    async ({ caller, query: { run_id, suite_run_id, verdict, limit } }) => {
      const owner = caller.scopes.has('observe') ? undefined : caller.id
      const subject =
        run_id !== undefined || suite_run_id !== undefined ? subjectOf({ run_id, suite_run_id }) : undefined
      const { tenant } = caller
      const rows = await items.list({ tenant, kind: 'rating', owner, subject, label: verdict, limit })
      return { ratings: rows.map((row) => ratingOf(row, caller)) }
    },
  )

  app.put<{ Body: RatingBody }>(
    '/api/ratings',
    route(['chat', 'observe'], 'runs', 'Rates the answer of a run or of a trial; replaces your earlier rating', {
      body: {
        ...exactly({
          run_id: ID,
          suite_run_id: ID,
          trial: TRIAL,
          verdict: VERDICT,
          comment: { type: 'string', maxLength: MAX_COMMENT },
        }),
        required: ['verdict'],
        oneOf: [{ required: ['run_id'] }, { required: ['suite_run_id', 'trial'] }],
      },
      response: { 200: object(RATING) },
    }),
    async ({ caller, body }): Promise<Rating> => {
      const { run_id, suite_run_id, trial, verdict, comment = '' } = body
      const about = run_id !== undefined ? { run_id } : { suite_run_id, trial }
      await requireSubject(caller, about)
      const content = JSON.stringify({ ...about, comment: redactText(comment, MAX_COMMENT) })
      const subject = subjectOf(body)
      const item = {
        tenant: caller.tenant,
        kind: 'rating',
        owner: caller.id,
        id: hash('sha256', `${subject} ${partOf(trial)}`),
        owner_name: caller.name,
        subject,
        label: verdict,
        name: '',
        content,
        updated_at: installation.clock.wall(),
      } as const
      const quota = installation.tenants.quota(caller.tenant)
      await items.put(item, { quota, most: MAX_RATINGS })
      const detail = { verdict, ...(trial && { trial: partOf(trial) }) }
      await record(caller, run_id ?? suite_run_id ?? '', detail)
      return ratingOf({ ...item, created_at: item.updated_at }, caller)
    },
  )

  app.delete<{ Params: { id: string } }>(
    '/api/ratings/:id',
    route(['chat', 'observe'], 'runs', 'Removes one of your ratings', {
      params: pathParameter('id', 64),
      response: { 204: { description: 'Removed', type: 'null' } },
    }),
    async ({ caller, params: { id } }, reply) => {
      const key = { tenant: caller.tenant, kind: 'rating', owner: caller.id, id } as const
      const item = found(await items.get(key), `Rating '${id}'`)
      await items.remove(key)
      await record(caller, item.subject?.replace(/^\w+:/, '') ?? '', { verdict: 'removed' })
      return reply.code(204).send()
    },
  )

  const record = (caller: Caller, subject: string, detail: Readonly<Record<string, unknown>>) =>
    installation.events.record('rating.changed', { by: caller, tenant: caller.tenant, subject, detail })
}

/** The subject of a stored rating. Lists of runs count by it. */
const subjectOf = ({ run_id, suite_run_id }: Subject): string =>
  run_id !== undefined ? `run:${run_id}` : `suite:${suite_run_id}`

const partOf = (trial: RatedTrial | undefined): string =>
  trial === undefined ? '' : JSON.stringify([trial.suite, trial.model, trial.case, trial.repetition])

function ratingOf({ id, owner, owner_name, label, content, updated_at }: ListedItem, caller: Caller): Rating {
  const about = JSON.parse(content) as Pick<Rating, 'run_id' | 'suite_run_id' | 'trial' | 'comment'>
  const at = new Date(updated_at).toISOString()
  return { id, ...about, verdict: label as Rating['verdict'], by: owner_name, own: owner === caller.id, at }
}
