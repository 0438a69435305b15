import type { Caller } from '../../config/callers/caller.ts'
import type { Installation } from '../../config/installation.ts'
import type { Job } from '../../core/storage/job-store.ts'
import type { ValidationReport } from '../../validation/reports/validation-report.ts'
import { HttpProblem } from '../http-problem.ts'
import type { JobView } from '../jobs/job-view.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { estimateSuites, prepareSuites } from './prepare-suites.ts'
import type { SuiteRequest } from './suite-request.ts'
import { SUITES } from './suite-task.ts'
import type { ListedSuiteRun, SuiteEstimate, SuiteProgress, SuiteRunView } from './suite-views.ts'

const LOOKED_AT = 20

/** Runs of suites: jobs of the server, one at a time for each tenant. */
export class SuiteRuns {
  readonly #installation: Installation
  readonly #jobs: Jobs
  /** The tenants for which one is being started. */
  readonly #starting = new Set<string>()

  constructor(installation: Installation, jobs: Jobs) {
    this.#installation = installation
    this.#jobs = jobs
  }

  async estimate({ tenant }: Caller, request: SuiteRequest): Promise<SuiteEstimate> {
    return estimateSuites(await prepareSuites(this.#installation, tenant, request), request)
  }

  /** Starts a run. Throws an `HttpProblem` where it cannot be, or another one of the tenant is not over. */
  async start(caller: Caller, request: SuiteRequest): Promise<ListedSuiteRun> {
    const { tenant } = caller
    await prepareSuites(this.#installation, tenant, request)
    if (this.#starting.has(tenant)) throw busy()
    this.#starting.add(tenant)
    try {
      const jobs = await this.#jobs.listTasks(caller, SUITES, LOOKED_AT)
      const open = jobs.find(({ ended_at }) => ended_at === null)
      if (open !== undefined) throw busy(open)
      return listed(await this.#jobs.startTask(caller, SUITES, request), request)
    } finally {
      this.#starting.delete(tenant)
    }
  }

  async list(caller: Caller): Promise<ListedSuiteRun[]> {
    const jobs = await this.#jobs.listTasks(caller, SUITES, LOOKED_AT)
    return jobs.map((job) => {
      const { report: _report, ...run } = viewOf(job)
      return run
    })
  }

  async get(caller: Caller, id: string): Promise<SuiteRunView | undefined> {
    const job = await this.#jobs.getTask(caller, id, SUITES)
    return job && viewOf(job)
  }

  /** Ends a run; what was found out until then stays. */
  async cancel(caller: Caller, id: string): Promise<SuiteRunView | undefined> {
    await this.#jobs.cancel(caller, id, SUITES)
    return this.get(caller, id)
  }

  /** How a run goes on: its progress as it comes, then the run with its report. */
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
    'Suites are being run already',
    open === undefined ? 'wait until they have been' : `wait for run ${open.id}, or cancel it`,
  )
