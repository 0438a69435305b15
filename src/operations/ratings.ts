import { hash } from 'node:crypto'
import { mayRead } from '../app/callers/callers.ts'
import type { Installation } from '../app/installation.ts'
import { LOCAL_TENANT } from '../core/execution/call.ts'
import { found, OperationError } from '../core/operation/operation-error.ts'
import { redactText } from '../core/records/redact.ts'
import type { ListedItem } from '../core/storage/item-store.ts'
import { SUITES } from '../validation/suites/suite.ts'
import { given, inPath, list, type OperationCall, object, operation, REMOVED, TEXT, TIME } from './operation.ts'

const MAX_COMMENT = 2_000
const MAX_RATINGS = 10_000
const MAX_LISTED = 200

const ID = { type: 'string', minLength: 1, maxLength: 200 } as const
const VERDICT = { enum: ['good', 'bad'] } as const
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

/** Names a trial of a suite run. */
export interface RatedTrial {
  readonly suite: string
  readonly model: string
  readonly case: string
  readonly repetition: number
}

interface Subject {
  readonly run_id?: string
  readonly suite_run_id?: string
  readonly trial?: RatedTrial
}

interface RatingBody extends Subject {
  readonly verdict: 'good' | 'bad'
  readonly comment?: string
}

/** What a person thinks of an answer. */
export type Rating = ReturnType<typeof ratingOf>

function ratingOf({ id, owner, owner_name, label, content, updated_at }: ListedItem, { by }: OperationCall) {
  const about = JSON.parse(content) as Subject & { readonly comment: string }
  const verdict = label as RatingBody['verdict']
  return { id, ...about, verdict, by: owner_name, own: owner === by.id, at: new Date(updated_at).toISOString() }
}

/** The subject of a stored rating. Lists of runs count by it. */
const subjectOf = ({ run_id, suite_run_id }: Subject): string =>
  run_id !== undefined ? `run:${run_id}` : `suite:${suite_run_id}`

const partOf = (trial: RatedTrial | undefined): string =>
  trial === undefined ? '' : JSON.stringify([trial.suite, trial.model, trial.case, trial.repetition])

/** Throws if the caller may not see what is rated. */
async function requireSubject(host: Installation, { run_id, suite_run_id = '', trial }: Subject, call: OperationCall) {
  const { tenant = LOCAL_TENANT, caller } = call
  const { runs, jobs } = host.storage
  if (run_id !== undefined) {
    await host.settle()
    const run = await runs.get(tenant, run_id)
    found(mayRead(caller, run) || undefined, 'Run', run_id)
    return
  }
  if (caller?.scopes.has('observe') === false) {
    throw new OperationError('forbidden', "Rating a suite run needs the scope 'observe'")
  }
  const job = await jobs.get(tenant, suite_run_id, 'whole')
  if (job === undefined && caller !== undefined) {
    host.events.crossed(caller, `job ${suite_run_id}`, jobs.tenantOf(suite_run_id))
  }
  const report = job?.tool === SUITES && job.result?.success ? job.result.result : undefined
  const { trials } = Object(report) as { readonly trials?: readonly RatedTrial[] }
  const isThere = trials?.some((one) => partOf(one) === partOf(trial))
  if (!isThere) throw new OperationError('not_found', `The trial of suite run '${suite_run_id}' not found`)
}

const record = ({ events }: Installation, call: OperationCall, subject: string, detail: object) =>
  events.record('rating.changed', { by: call.by, tenant: call.tenant ?? LOCAL_TENANT, subject, detail: { ...detail } })

const RATINGS = { path: '/api/ratings', scope: ['chat', 'observe'], tag: 'runs', needs: 'installation' } as const

/** What people think of answers: one rating of each person for each run or trial. */
export const ratings = {
  operations: {
    list: operation({
      ...{ id: 'ratings.list', method: 'GET', ...RATINGS },
      summary: 'Lists ratings of answers, newest first; without the scope `observe`, your own',
      query: {
        run_id: ID,
        suite_run_id: ID,
        verdict: VERDICT,
        limit: { type: 'integer', minimum: 1, maximum: 1_000, default: MAX_LISTED },
      },
      answer: object({ ratings: list(RATING) }),
      async run({ storage }, { verdict: label, limit, ...about }, call) {
        const { tenant = LOCAL_TENANT, caller } = call
        const owner = caller?.scopes.has('observe') === false ? caller.id : undefined
        const isAbout = about.run_id !== undefined || about.suite_run_id !== undefined
        const subject = isAbout ? subjectOf(about) : undefined
        const rows = await storage.items.list({ tenant, kind: 'rating', owner, subject, label, limit })
        return { ratings: rows.map((row) => ratingOf(row, call)) }
      },
    }),
    put: operation({
      ...{ id: 'ratings.put', method: 'PUT', ...RATINGS },
      summary: 'Rates the answer of a run or of a trial; replaces your earlier rating',
      body: given<RatingBody>({
        type: 'object',
        properties: {
          run_id: ID,
          suite_run_id: ID,
          trial: TRIAL,
          verdict: VERDICT,
          comment: { type: 'string', maxLength: MAX_COMMENT },
        },
        additionalProperties: false,
        required: ['verdict'],
        oneOf: [{ required: ['run_id'] }, { required: ['suite_run_id', 'trial'] }],
      }),
      answer: object(RATING),
      async run(host, { run_id, suite_run_id, trial, verdict, comment = '' }, call) {
        const { tenant = LOCAL_TENANT, by } = call
        const about = run_id !== undefined ? { run_id } : { suite_run_id: suite_run_id ?? '', ...(trial && { trial }) }
        await requireSubject(host, about, call)
        const subject = subjectOf(about)
        const item = {
          ...({ tenant, kind: 'rating', owner: by.id, owner_name: by.name } as const),
          id: hash('sha256', `${subject} ${partOf(trial)}`),
          subject,
          label: verdict,
          name: '',
          content: JSON.stringify({ ...about, comment: redactText(comment, MAX_COMMENT) }),
          updated_at: host.clock.wall(),
        }
        await host.storage.items.put(item, { quota: host.tenants.quota(tenant), most: MAX_RATINGS })
        const detail = { verdict, ...(trial && { trial: partOf(trial) }) }
        await record(host, call, run_id ?? suite_run_id ?? '', detail)
        return ratingOf({ ...item, created_at: item.updated_at }, call)
      },
    }),
    remove: operation({
      ...{ id: 'ratings.remove', method: 'DELETE', ...RATINGS, path: '/api/ratings/:id' },
      summary: 'Removes one of your ratings',
      params: { id: inPath(64) },
      ...REMOVED,
      async run(host, { id }, call) {
        const { items } = host.storage
        const key = { tenant: call.tenant ?? LOCAL_TENANT, kind: 'rating', owner: call.by.id, id } as const
        const item = found(await items.get(key), 'Rating', id)
        await items.remove(key)
        await record(host, call, item.subject?.replace(/^\w+:/, '') ?? '', { verdict: 'removed' })
      },
    }),
  },
}
