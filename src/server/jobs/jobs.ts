import { hash, randomUUID } from 'node:crypto'
import type { Caller } from '../../app/callers/callers.ts'
import type { Installation } from '../../app/installation.ts'
import type { CallContext } from '../../core/call-context.ts'
import { pause } from '../../core/cancellation.ts'
import { cancelled } from '../../core/execution/call.ts'
import { canonicalText } from '../../core/json/canonical-text.ts'
import { writeLog } from '../../core/log.ts'
import type { Job, JobParts, JobQueue, NewJob } from '../../core/storage/job-store.ts'
import { ToolExecutionError, type ToolResult } from '../../core/tool-result.ts'
import { callOf, JobRun, type JobView, jobView, type StoredCall, type TaskName, type Tasks } from './job-run.ts'

const HOUR_MS = 3_600_000
const MIN_TIMEOUT_MS = 1_000
/** How often event streams poll a job on this server, and one on another server. */
const POLL_HERE_MS = 100
const POLL_ELSEWHERE_MS = 500
const END_AT_ONCE = 100

declare module 'fastify' {
  interface FastifyInstance {
    readonly jobs: Jobs
  }
}

interface JobsOptions {
  readonly installation: Installation
  readonly queue: JobQueue
  /** Work of the server itself that runs as a job. */
  readonly tasks?: Tasks
}

/** A tool call to run as a job. */
export interface JobRequest {
  readonly tool_name: string
  readonly params: unknown
  /** Clamped to 1 s and the limit in the configuration. */
  readonly timeout_ms?: number | undefined
  readonly session?: string | undefined
  /** A second request with the same key gets the job of the first. */
  readonly idempotencyKey?: string | undefined
  readonly approvalId?: string | undefined
  readonly traceparent?: string | undefined
  readonly onRate?: CallContext['onRate']
}

type Started = { readonly job: JobView } | { readonly refused: ToolResult }

export type JobEvent =
  | { readonly event: 'progress'; readonly data: unknown }
  | { readonly event: 'result'; readonly data: ToolResult }

/** Tool calls and tasks that run in the background, on any free server. */
export class Jobs {
  readonly #installation: Installation
  readonly #queue: JobQueue
  readonly #tasks: Tasks
  readonly #runs = new Map<string, JobRun>()
  #closing = false

  constructor({ installation, queue, tasks = new Map() }: JobsOptions) {
    this.#installation = installation
    this.#queue = queue
    this.#tasks = tasks
  }

  /** Starts to run jobs, beginning with unfinished ones. */
  async work(): Promise<void> {
    await this.#queue.work((id) => this.#work(id))
  }

  /** Accepts a job, or refuses it as the call itself would be refused. */
  async start(caller: Caller, request: JobRequest): Promise<Started> {
    const { tool_name, params, timeout_ms, session, idempotencyKey, approvalId, traceparent, onRate } = request
    const { manager, callers, config } = this.#installation
    const maxMs = config.limits?.job_timeout_ms ?? HOUR_MS
    const context: CallContext = {
      ...callers.context(caller, 'job', session),
      onRate,
      timeoutMs: timeout_ms === undefined ? undefined : Math.max(MIN_TIMEOUT_MS, timeout_ms),
    }
    const executor = manager.getExecutor()
    if (this.#tasks.has(tool_name as TaskName)) {
      const unfit = new ToolExecutionError(
        'TOOL_NOT_FOUND',
        `Tool '${tool_name}' cannot run as a job: its name is reserved. Rename the tool`,
      )
      return { refused: executor.refuse(tool_name, unfit, context) }
    }
    const admitted = await executor.admit(tool_name, params, context)
    if ('refused' in admitted) return admitted
    const call: StoredCall = { params, idempotency_key: idempotencyKey, approval_id: approvalId, traceparent }
    try {
      const job = await this.#create({
        id: idempotencyKey === undefined ? randomUUID() : keyedId(caller, idempotencyKey),
        tenant: caller.tenant,
        caller: caller.id,
        tool: tool_name,
        params: call,
        timeout_ms: Math.min(admitted.timeoutMs, maxMs),
        created_at: this.#now(),
      })
      return { job: jobView(job) }
    } catch (error) {
      return { refused: executor.refuse(tool_name, notStarted(error), context) }
    }
  }

  /** Accepts a task of the server. Check the caller's permissions first. */
  async startTask(caller: Caller, task: TaskName, params: unknown): Promise<JobView> {
    const { limits } = this.#installation.config
    const job = await this.#create({
      id: randomUUID(),
      tenant: caller.tenant,
      caller: caller.id,
      tool: task,
      params,
      timeout_ms: limits?.job_timeout_ms ?? HOUR_MS,
      created_at: this.#now(),
    })
    return jobView(job)
  }

  /** A job that the caller may see: a tool call, or the named task. */
  async get(caller: Caller, id: string, task?: TaskName): Promise<JobView | undefined> {
    const job = await this.#find(caller, id, task, 'result')
    return job && jobView(job, this.#runs.get(id)?.progress ?? job.progress)
  }

  /** The newest jobs that the caller may see, without their results. */
  async list(caller: Caller, limit: number): Promise<readonly Omit<JobView, 'result'>[]> {
    const only = caller.scopes.has('observe') ? undefined : caller.id
    const jobs = await this.#installation.storage.jobs.list(caller.tenant, limit, only)
    return jobs
      .filter((job) => this.#does(job, undefined))
      .map((job) => {
        const { result: _, ...listed } = jobView(job)
        return listed
      })
  }

  /** A job that runs a task, with all its fields. */
  async getTask(caller: Caller, id: string, task: TaskName): Promise<Job | undefined> {
    const job = await this.#find(caller, id, task, 'whole')
    return job && { ...job, progress: this.#runs.get(id)?.progress ?? job.progress }
  }

  /** The newest stored jobs of the tenant that run a task. */
  listTasks({ tenant }: Caller, task: TaskName, limit: number): Promise<readonly Job[]> {
    return this.#installation.storage.jobs.list(tenant, limit, undefined, task)
  }

  /** Cancels a job on any server. A finished job stays as it is. */
  async cancel(caller: Caller, id: string, task?: TaskName): Promise<JobView | undefined> {
    const job = await this.#find(caller, id, task, 'state')
    if (job === undefined) return undefined
    const run = this.#runs.get(id)
    if (run !== undefined) {
      run.cancel('cancelled')
      await run.done
    } else if (job.ended_at === null) await this.#cancelElsewhere(job)
    return this.get(caller, id, task)
  }

  /**
   * Cancels the jobs of callers whose keys have ended: those that run here, and on any server those that wait. If the keys only
   * may do less than before, those that wait start with the new rights.
   */
  async endCallers(ids: ReadonlySet<string>, isNarrowed = false): Promise<void> {
    const { storage, log } = this.#installation
    for (const run of this.#runs.values()) if (ids.has(run.job.caller ?? '')) run.cancel('cancelled')
    if (isNarrowed) return
    try {
      for (const caller of ids) {
        for (;;) {
          const waiting = await storage.jobs.waiting(END_AT_ONCE, caller)
          if (waiting.length === 0 || this.#closing) break
          // The run itself finds that the key has ended.
          await Promise.all(waiting.map(({ id }) => this.#work(id)))
        }
      }
    } catch (err) {
      writeLog(log, 'warn', { err }, 'Waiting jobs of a revoked key could not be ended: they end when it is their turn')
    }
  }

  /** Progress events, then the result. Ends early if the signal aborts. */
  async *events(caller: Caller, id: string, signal: AbortSignal, task?: TaskName): AsyncGenerator<JobEvent> {
    let last = 'null'
    let job: Job | undefined
    while (!signal.aborted) {
      const run = this.#runs.get(id)
      // A job that runs here is known: streams of it need no store until it has ended.
      if (run === undefined || job === undefined) job = await this.#find(caller, id, task, 'state')
      if (job === undefined) return
      const progress = run?.progress ?? job.progress
      const text = JSON.stringify(progress)
      if (text !== last) yield { event: 'progress', data: progress }
      last = text
      const ended = job.ended_at === null ? undefined : await this.get(caller, id, task)
      if (ended?.result) {
        yield { event: 'result', data: ended.result }
        return
      }
      const wait = pause(run === undefined ? POLL_ELSEWHERE_MS : POLL_HERE_MS, this.#installation.clock, signal)
      await Promise.race(run === undefined ? [wait] : [wait, run.done]).catch(() => {})
    }
  }

  /** Accepts no more jobs, and cancels running ones after the limit. */
  async close(limitMs: number): Promise<void> {
    this.#closing = true
    await this.#queue.close(limitMs)
    const runs = [...this.#runs.values()]
    for (const run of runs) run.cancel('shutdown')
    await Promise.all(runs.map((run) => run.done))
  }

  async #work(id: string): Promise<void> {
    if (this.#closing) return
    const job = await this.#installation.storage.jobs.take(id, this.#now())
    if (job === undefined) return
    const run = new JobRun(job, this.#installation, this.#tasks.get(job.tool as TaskName))
    this.#runs.set(id, run)
    await run.done
    this.#runs.delete(id)
  }

  async #create(job: NewJob): Promise<Job> {
    const { storage, tenants } = this.#installation
    const { jobs } = storage
    try {
      await jobs.create(job, tenants.quota(job.tenant))
    } catch (error) {
      // A repeated request has the id of the first job.
      const first = await jobs.get(job.tenant, job.id)
      if (first === undefined) throw error
      if (!isSameCall(first, job)) throw usedForOther(job)
      return first
    }
    await this.#queue.add(job.id, job.tenant).catch((err) => {
      writeLog(
        this.#installation.log,
        'warn',
        { err, job: job.id },
        'A job could not be queued: it waits for the next scan',
      )
    })
    return {
      ...job,
      state: 'queued',
      started_at: null,
      ended_at: null,
      progress: null,
      result: null,
      server: null,
      attempts: 0,
    }
  }

  async #find(caller: Caller, id: string, task: TaskName | undefined, parts: JobParts): Promise<Job | undefined> {
    const { storage, events } = this.#installation
    const job = await storage.jobs.get(caller.tenant, id, parts)
    if (job === undefined) events.crossed(caller, `job ${id}`, storage.jobs.tenantOf(id))
    return job !== undefined && this.#does(job, task) && (task !== undefined || maySee(caller, job)) ? job : undefined
  }

  /** Tasks have their own routes and scopes. */
  #does({ tool }: Job, task: TaskName | undefined): boolean {
    return task === undefined ? !this.#tasks.has(tool as TaskName) : tool === task
  }

  /** Ends a job that doesn't run here. Taking it from the queue prevents others from starting it. */
  async #cancelElsewhere(job: Job): Promise<void> {
    const { storage, manager, clock } = this.#installation
    const { id, tenant, caller, tool } = job
    const executor = manager.getExecutor()
    const taken = await storage.jobs.take(id, this.#now())
    const since = Date.parse(job.started_at ?? job.created_at)
    // If another server runs it, that server records the call.
    const result: ToolResult =
      taken === undefined || this.#tasks.has(tool as TaskName)
        ? cancelledElsewhere(tool, clock.wall() - since)
        : executor.refuse(tool, cancelled(), { tenant, source: 'job', caller: caller ?? undefined })
    const effect = executor.effectOf(tool)
    const mayHaveHappened = taken?.attempts !== 1 && effect !== 'read' && effect !== 'idempotent'
    const stored =
      mayHaveHappened && !this.#tasks.has(tool as TaskName) ? { ...result, outcome: 'unknown' as const } : result
    await storage.jobs.end(id, 'cancelled', stored, this.#now())
  }

  #now(): string {
    return new Date(this.#installation.clock.wall()).toISOString()
  }
}

/** Callers see their own jobs, and with the scope `observe` all jobs of the tenant. */
const maySee = ({ id, scopes }: Caller, job: Job): boolean => scopes.has('observe') || job.caller === id

const keyedId = ({ tenant, id }: Caller, key: string): string =>
  hash('sha256', JSON.stringify([tenant, id, key])).slice(0, 32)

const isSameCall = (first: Job, { tool, params }: NewJob): boolean =>
  first.tool === tool && canonicalText(callOf(first).params) === canonicalText((params as StoredCall).params)

const cancelledElsewhere = (tool_name: string, execution_time_ms: number): ToolResult => ({
  success: false,
  error: cancelled().message,
  error_code: 'CANCELLED',
  tool_name,
  execution_time_ms: Math.max(0, execution_time_ms),
})

const usedForOther = (job: NewJob): ToolExecutionError =>
  new ToolExecutionError(
    'INVALID_PARAMETERS',
    `The idempotency key '${(job.params as StoredCall).idempotency_key}' was used for another job: use a new key`,
  )

const notStarted = (error: unknown): ToolExecutionError =>
  error instanceof ToolExecutionError && (error.code === 'INVALID_PARAMETERS' || error.code === 'RATE_LIMITED')
    ? error
    : new ToolExecutionError(
        'SERVICE_UNAVAILABLE',
        'The job store is unavailable: the job was not started. Try again later',
        {},
        { cause: error },
      )
