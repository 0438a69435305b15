import type { Rights } from '../../app/callers/callers.ts'
import type { Installation } from '../../app/installation.ts'
import type { CallContext } from '../../core/call-context.ts'
import { Cancellation, type CancelSignal, pause } from '../../core/cancellation.ts'
import { writeLog } from '../../core/log.ts'
import { snapshotResult } from '../../core/snapshot.ts'
import type { Job, JobState } from '../../core/storage/job-store.ts'
import { isRefused, ToolExecutionError, type ToolResult } from '../../core/tool-result.ts'

/** A job as its callers see it. */
export interface JobView {
  readonly id: string
  readonly tool_name: string
  /** The id of the key that started it. */
  readonly caller: string | null
  readonly state: JobState
  readonly timeout_ms: number
  readonly created_at: string
  readonly started_at: string | null
  readonly ended_at: string | null
  /** The latest progress that the tool reported. */
  readonly progress: unknown
  /** The envelope; null until the job has ended. */
  readonly result: ToolResult | null
}

/** The call behind a job, stored in place of its parameters. */
export interface StoredCall {
  readonly params: unknown
  readonly idempotency_key?: string | undefined
  readonly approval_id?: string | undefined
  readonly traceparent?: string | undefined
}

export const callOf = (job: Job): StoredCall => job.params as StoredCall

export function jobView(job: Job, progress: unknown = job.progress): JobView {
  const { id, tool, caller, state, timeout_ms, created_at, started_at, ended_at, result } = job
  return { id, tool_name: tool, caller, state, timeout_ms, created_at, started_at, ended_at, progress, result }
}

export interface TaskContext {
  readonly tenant: string
  /** The rights of the caller that started it. */
  readonly rights: Rights
  /** When cancelled, the task returns what it has so far instead of failing. */
  readonly signal: CancelSignal
  /** Reports progress; the last report is stored. */
  report(progress: unknown): void
}

/** Work of the server itself that runs as a job. */
export interface Task {
  /** Whether it may run again after its server has died. */
  readonly repeatable?: boolean
  run(params: unknown, context: TaskContext): Promise<unknown>
}

/** Stored in place of the tool name. Tool names have no slash. */
export type TaskName = `toolyard/${string}`

export type Tasks = ReadonlyMap<TaskName, Task>

/** A task failed with a message for its caller. */
export class TaskError extends Error {
  override readonly name = 'TaskError'
}

/** How often progress is stored, and the state of the job is checked. */
const WATCH_INTERVAL_MS = 1_000
const MAX_PROGRESS_BYTES = 65_536
/** How often a job is started again after its server has crashed. */
const MAX_ATTEMPTS = 3
/** The delays between calls of a rate-limited tool. */
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 15_000
/** The delays between attempts to store the result. */
const END_PAUSES_MS = [200, 1_000, 5_000, 15_000]

/** One job that runs on this server. */
export class JobRun {
  readonly job: Job
  /** Settles when this server is done with the job. Never rejects. */
  readonly done: Promise<void>
  readonly #installation: Installation
  /** Undefined if the job calls a tool. */
  readonly #task: Task | undefined
  readonly #cancellation = new Cancellation()
  /** Whether the call may be repeated. */
  readonly #repeatable: boolean
  #progress: unknown = null
  #unsaved = false
  /** Why it was cancelled: by a caller, by a shutdown, or because another server took the job. */
  #cancelReason: 'cancelled' | 'shutdown' | 'lost' | undefined

  constructor(job: Job, installation: Installation, task?: Task) {
    this.job = job
    this.#installation = installation
    this.#task = task
    const effect = installation.manager.getExecutor().effectOf(job.tool)
    this.#repeatable = task?.repeatable ?? (effect === 'read' || effect === 'idempotent')
    this.done = this.#run()
  }

  get progress(): unknown {
    return this.#progress
  }

  /** Cancels the tool call. The caller marks the job as cancelled. */
  cancel(why: 'cancelled' | 'shutdown' | 'lost'): void {
    this.#cancelReason ??= why
    this.#cancellation.abort(undefined)
  }

  async #run(): Promise<void> {
    const { log } = this.#installation
    const watching = this.#watch()
    try {
      const result = (await this.#hasValidKey()) ? await this.#call() : this.#refuse()
      watching.stop()
      // Another server repeats the call, or this one after its restart.
      const left = this.#cancelReason === 'shutdown' && this.#repeatable && wasCancelled(result)
      if (left || this.#cancelReason === 'lost') return
      await this.#end(this.#stored(result))
    } catch (err) {
      writeLog(log, 'error', { err, job: this.job.id, tool: this.job.tool }, 'The result of a job could not be stored')
    } finally {
      watching.stop()
    }
  }

  /** Another server may have accepted the job with a key that this one doesn't know yet. */
  async #hasValidKey(): Promise<boolean> {
    const { callers, storage } = this.#installation
    const { caller } = this.job
    if (caller === null || callers.isValid(caller)) return true
    await callers.load(storage.keys).catch(() => {})
    return callers.isValid(caller)
  }

  #refuse(): ToolResult {
    const { tool } = this.job
    const error = new ToolExecutionError('PERMISSION_DENIED', 'The API key of this job was revoked or has expired')
    if (this.#task === undefined) return this.#executor.refuse(tool, error, this.#context())
    return { success: false, error: error.message, error_code: error.code, tool_name: tool, execution_time_ms: 0 }
  }

  #call(): Promise<ToolResult> {
    return this.#task === undefined ? this.#work() : this.#runTask(this.#task)
  }

  /** Calls the tool. A rate-limited call is repeated until the timeout of the job. */
  async #work(): Promise<ToolResult> {
    const { job } = this
    const { clock } = this.#installation
    const context = this.#context()
    if (job.attempts > MAX_ATTEMPTS) return this.#executor.refuse(job.tool, givenUp(job), context)
    const until = clock.now() + job.timeout_ms
    for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(2 * wait, MAX_PAUSE_MS)) {
      const result = await this.#executor.execute(job.tool, callOf(job).params, context)
      if (result.success || result.error_code !== 'RATE_LIMITED' || clock.now() + wait > until) return result
      // If it was cancelled meanwhile, the next call returns CANCELLED.
      await pause(wait, clock, this.#cancellation).catch(() => {})
    }
  }

  /** A task that another server began is not restarted: it may be expensive. */
  async #runTask(task: Task): Promise<ToolResult> {
    const { job } = this
    const { clock, log } = this.#installation
    const startedMs = clock.now()
    const cancelTimer = clock.after(job.timeout_ms, () => this.#cancellation.abort(undefined))
    const envelope = () => ({ tool_name: job.tool, execution_time_ms: clock.now() - startedMs })
    try {
      if (job.attempts > (task.repeatable ? MAX_ATTEMPTS : 1))
        throw new TaskError('The server stopped before the task ended. Start it again to continue.')
      const context = { tenant: job.tenant, rights: this.#rights, signal: this.#cancellation, report: this.#report }
      return { success: true, result: await task.run(job.params, context), ...envelope() }
    } catch (err) {
      const known = err instanceof TaskError
      if (!known && this.#cancelReason === undefined)
        writeLog(log, 'error', { err, job: job.id, tool: job.tool }, 'A task failed')
      const error = known ? err.message : 'The task failed. See the server log.'
      const error_code = task.repeatable && this.#cancelReason !== undefined ? 'CANCELLED' : 'EXECUTION_ERROR'
      return { success: false, error, error_code, ...envelope() }
    } finally {
      cancelTimer()
    }
  }

  get #executor() {
    return this.#installation.manager.getExecutor()
  }

  get #rights(): Rights {
    return this.#installation.callers.rightsOf(this.job.caller, this.job.tenant)
  }

  #context(): CallContext {
    const { job } = this
    // The job id is the key of a write, so that a write that another server has started never runs twice.
    const {
      traceparent,
      approval_id: approvalId,
      idempotency_key: key = this.#repeatable ? undefined : job.id,
    } = callOf(job)
    return {
      tenant: job.tenant,
      ...this.#rights,
      source: 'job',
      timeoutMs: job.timeout_ms,
      signal: this.#cancellation,
      report: this.#report,
      caller: job.caller ?? undefined,
      idempotencyKey: key,
      approvalId,
      traceparent,
    }
  }

  readonly #report = (progress: unknown): void => {
    try {
      this.#progress = snapshotResult(progress, MAX_PROGRESS_BYTES)
      this.#unsaved = true
    } catch (err) {
      writeLog(this.#installation.log, 'debug', { err, job: this.job.id }, 'A progress report was dropped')
    }
  }

  /** The result to store, with facts that the executor can't know. */
  #stored(result: ToolResult): ToolResult {
    if (result.success) return result
    const { job } = this
    const mayHaveHappened = job.attempts > 1 && !this.#repeatable && isRefused(result.error_code)
    const ended = this.#cancelReason === 'shutdown' && wasCancelled(result)
    return {
      ...result,
      ...(ended && { error: `Tool '${job.tool}' was cancelled because the server shut down` }),
      ...(mayHaveHappened && { outcome: 'unknown' }),
    }
  }

  async #end(result: ToolResult): Promise<void> {
    const { storage, clock } = this.#installation
    const cutShort = this.#task === undefined ? wasCancelled(result) : result.success
    const state = this.#cancelReason === 'cancelled' && cutShort ? 'cancelled' : 'done'
    for (const wait of [...END_PAUSES_MS, undefined]) {
      try {
        if (this.#unsaved) await storage.jobs.progress(this.job.id, this.#progress)
        await storage.jobs.end(this.job.id, state, result, new Date(clock.wall()).toISOString())
        return
      } catch (error) {
        if (wait === undefined) throw error
        await pause(wait, clock)
      }
    }
  }

  /** Stores progress periodically, and cancels the call if another server has ended or taken the job. */
  #watch(): { stop(): void } {
    const { storage, clock } = this.#installation
    const { id, tenant, server } = this.job
    let cancelTimer = (): void => {}
    let stopped = false
    const look = async (): Promise<void> => {
      try {
        if (this.#unsaved) {
          this.#unsaved = false
          await storage.jobs.progress(id, this.#progress)
        }
        const now = await storage.jobs.get(tenant, id, 'state')
        if (now?.state !== 'running' || now.server !== server) this.cancel('lost')
      } catch (err) {
        writeLog(this.#installation.log, 'debug', { err, job: id }, 'The state of a job could not be checked')
      }
      if (!stopped) cancelTimer = clock.after(WATCH_INTERVAL_MS, () => void look())
    }
    cancelTimer = clock.after(WATCH_INTERVAL_MS, () => void look())
    return {
      stop() {
        stopped = true
        cancelTimer()
      },
    }
  }
}

const wasCancelled = (result: ToolResult): boolean => !result.success && result.error_code === 'CANCELLED'

const givenUp = ({ attempts }: Job): ToolExecutionError =>
  new ToolExecutionError(
    'EXECUTION_ERROR',
    `The job was started ${attempts - 1} times, and its server stopped each time: it is not started again`,
  )
