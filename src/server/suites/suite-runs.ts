import type { Caller } from '../../app/callers/callers.ts'
import type { Installation } from '../../app/installation.ts'
import { chargedModel } from '../../chat/charged-model.ts'
import { writeLog } from '../../core/log.ts'
import type { Job } from '../../core/storage/job-store.ts'
import { ModelValidationTracker } from '../../validation/model-validation.ts'
import { buildReport, type ReportedTrial, type ValidationReport } from '../../validation/reports/build-report.ts'
import { runSuites, trialRecorder } from '../../validation/running/run-suites.ts'
import { outcomeOf, type PlannedTrial, type Stopped, type Trial } from '../../validation/running/trial.ts'
import { TrialFileError } from '../../validation/running/trial-file.ts'
import { SUITES } from '../../validation/suites/suite.ts'
import { HttpProblem } from '../http/problem.ts'
import {
  type LatestTrial,
  type ListedSuiteRun,
  limitsOf,
  type ModelProgress,
  type SuiteEstimate,
  type SuiteProgress,
  type SuiteRequest,
  type SuiteRunView,
} from '../http/views.ts'
import { type JobView, type Task, type TaskContext, TaskError } from '../jobs/job-run.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { estimateSuites, prepareSuites } from './known-suites.ts'

const MAX_LATEST = 8
const MAX_MESSAGE_LENGTH = 300

/** Counts the trials of a run. */
class SuiteCount {
  readonly #models = new Map<string, { -readonly [Key in keyof ModelProgress]: ModelProgress[Key] }>()
  readonly #planned: number
  readonly #before: number
  #made = 0
  #tokens = 0
  #cost = 0
  #latest: LatestTrial[] = []
  #notRecorded: string | undefined

  constructor(planned: readonly PlannedTrial[], left: readonly PlannedTrial[]) {
    this.#planned = planned.length
    this.#before = planned.length - left.length
    for (const { model } of planned) {
      const { id } = model.model
      const known = this.#models.get(id) ?? { id, trials: 0, passed: 0, failed: 0, not_answered: 0 }
      this.#models.set(id, { ...known, trials: known.trials + 1 })
    }
  }

  add(trial: Trial): void {
    const { verdict, suite, model, repetition, tokens, cost = 0 } = trial
    const outcome = outcomeOf(trial)
    const own = this.#models.get(model.model.id)
    if (own !== undefined && outcome !== 'not_run') own[outcome]++
    this.#made++
    this.#tokens += tokens
    this.#cost += cost
    const made: LatestTrial = {
      suite: suite.suite.name,
      model: model.model.id,
      case: trial.case.id,
      repetition,
      outcome,
      ...(!verdict.passed && { message: verdict.message.slice(0, MAX_MESSAGE_LENGTH) }),
    }
    this.#latest = [made, ...this.#latest].slice(0, MAX_LATEST)
  }

  stop(model: string, stopped: Stopped): void {
    const own = this.#models.get(model)
    if (own !== undefined) own.stopped = stopped
  }

  notRecorded(): void {
    this.#notRecorded = 'The trials could not be recorded, so they do not count for the models. See the server log.'
  }

  get progress(): SuiteProgress {
    return {
      trials: this.#planned,
      made_before: this.#before,
      made: this.#made,
      tokens: this.#tokens,
      cost: this.#cost,
      models: [...this.#models.values()].map((one) => ({ ...one })),
      latest: this.#latest,
      not_recorded: this.#notRecorded,
    }
  }
}

/** Failed trials that are stored with details. */
const MAX_DETAILED = 500

/** Runs suites as `toolyard validate` does, and records the trials for the tenant. */
export const suiteTask = (installation: Installation): Task => ({
  async run(params, context) {
    try {
      return await run(installation, params as SuiteRequest, context)
    } catch (error) {
      if (error instanceof HttpProblem) throw new TaskError(error.message, { cause: error })
      if (!(error instanceof TrialFileError)) throw error
      writeLog(installation.log, 'error', { err: error }, 'The trials of a suite run could not be stored')
      throw new TaskError('The trials could not be stored. See the server log.', { cause: error })
    }
  },
})

async function run(
  installation: Installation,
  request: SuiteRequest,
  { tenant, rights: { tools, models, keyId }, signal, report }: TaskContext,
): Promise<ValidationReport> {
  const { storage, clock, log, toolUse: uses, manager, budgets } = installation
  const prepared = await prepareSuites(installation, { tenant, tools, models }, request)
  const spender = { tenant, keyId }
  const tests = new ModelValidationTracker({ store: storage.validations, tenant, clock })
  const recorder = trialRecorder({ tests, uses, tenant, registry: manager.getRegistry() })
  let count = new SuiteCount([], [])
  const tell = (): void => report(count.progress)
  const work = {
    ...prepared,
    models: prepared.models.map(({ model, prices }) => ({
      model: chargedModel(model, { budgets, spender, prices }),
      prices,
    })),
    tenant,
    budget: { ...limitsOf(request), currency: budgets.currency },
    fresh: request.fresh === true,
    signal,
    clock,
    recorder,
  }
  const { run: made } = await runSuites(work, {
    begun(planned, left) {
      count = new SuiteCount(planned, left)
      tell()
    },
    made(trial) {
      count.add(trial)
      tell()
    },
    stopped(model, stopped) {
      count.stop(model, stopped)
      tell()
    },
    notRecorded(err) {
      writeLog(log, 'error', { err }, 'The trials of a suite run are no longer recorded')
      count.notRecorded()
      tell()
    },
  })
  // Flush, so that the next reader sees all counts.
  await uses.flush()
  const { suites, repeat: repetitions } = prepared
  const createdAt = new Date(clock.wall()).toISOString()
  return bounded(buildReport(made, { suites, repetitions, createdAt }))
}

/** Stores the details of failed trials only. */
function bounded(report: ValidationReport): ValidationReport {
  let detailed = 0
  const trials = report.trials.map((trial): ReportedTrial => {
    if (trial.kind !== undefined && ++detailed <= MAX_DETAILED) return trial
    const { turns: _turns, expected: _expected, actual: _actual, expectation: _expectation, ...rest } = trial
    return rest
  })
  return { ...report, trials }
}

const MAX_LISTED = 20

/** Suite runs: jobs, one at a time for each tenant. */
export class SuiteRuns {
  readonly #installation: Installation
  readonly #jobs: Jobs
  /** Tenants whose run is starting. */
  readonly #starting = new Set<string>()

  constructor(installation: Installation, jobs: Jobs) {
    this.#installation = installation
    this.#jobs = jobs
  }

  async estimate(caller: Caller, request: SuiteRequest): Promise<SuiteEstimate> {
    return estimateSuites(await prepareSuites(this.#installation, caller, request), request)
  }

  /** Starts a run. Throws an `HttpProblem` if the request is invalid or the tenant has a run in progress. */
  async start(caller: Caller, request: SuiteRequest): Promise<ListedSuiteRun> {
    const { tenant } = caller
    await prepareSuites(this.#installation, caller, request)
    if (this.#starting.has(tenant)) throw busy()
    this.#starting.add(tenant)
    try {
      const jobs = await this.#jobs.listTasks(caller, SUITES, MAX_LISTED)
      const open = jobs.find(({ ended_at }) => ended_at === null)
      if (open !== undefined) throw busy(open)
      return listed(await this.#jobs.startTask(caller, SUITES, request), request)
    } finally {
      this.#starting.delete(tenant)
    }
  }

  async list(caller: Caller): Promise<ListedSuiteRun[]> {
    const jobs = await this.#jobs.listTasks(caller, SUITES, MAX_LISTED)
    return jobs.map((job) => {
      const { report: _report, ...run } = viewOf(job)
      return run
    })
  }

  async get(caller: Caller, id: string): Promise<SuiteRunView | undefined> {
    const job = await this.#jobs.getTask(caller, id, SUITES)
    return job && viewOf(job)
  }

  /** Cancels a run. Completed trials are kept. */
  async cancel(caller: Caller, id: string): Promise<SuiteRunView | undefined> {
    await this.#jobs.cancel(caller, id, SUITES)
    return this.get(caller, id)
  }

  /** Progress events, then the run with its report. */
  async *events(caller: Caller, id: string, signal: AbortSignal): AsyncGenerator<{ event: string; data: unknown }> {
    for await (const { event, data } of this.#jobs.events(caller, id, signal, SUITES)) {
      yield event === 'progress' ? { event, data } : { event: 'result', data: await this.get(caller, id) }
    }
  }
}

type Viewed = Pick<JobView, 'id' | 'state' | 'caller' | 'created_at' | 'started_at' | 'ended_at' | 'progress'>

function viewOf(job: Job): SuiteRunView {
  const { result } = job
  const report = result?.success ? (result.result as ValidationReport) : null
  const error = result !== null && !result.success ? result.error : null
  return { ...listed(job, job.params as SuiteRequest), error, report }
}

function listed({ id, state, caller, created_at, started_at, ended_at, progress }: Viewed, request: SuiteRequest) {
  const known = { id, state, caller, created_at, started_at, ended_at, request, error: null }
  return { ...known, progress: progress as SuiteProgress | null }
}

const busy = (open?: Job): HttpProblem =>
  new HttpProblem(
    409,
    'A suite run is already in progress',
    open === undefined ? 'wait until it has ended' : `wait for run ${open.id}, or cancel it`,
  )
