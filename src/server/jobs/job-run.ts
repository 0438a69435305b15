import type { Installation } from '../../config/installation.ts'
import type { CallContext } from '../../core/call-context.ts'
import { Cancellation, type CancelSignal } from '../../core/cancellation.ts'
import { writeLog } from '../../core/log.ts'
import { pause } from '../../core/pause.ts'
import { snapshotResult } from '../../core/snapshot.ts'
import type { Job, JobState } from '../../core/storage/job-store.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { ToolResult } from '../../core/tool-result.ts'

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
  /** What the tool reported last. */
  readonly progress: unknown
  /** The envelope, when it is over. */
  readonly result: ToolResult | null
}

/** The call behind a job, stored in place of its parameters. */
export interface StoredCall {
  readonly params: unknown
  /** What its caller knows the call by. */
  readonly idempotency_key?: string
  /** The trace that asked for it. */
  readonly traceparent?: string
}

export const callOf = (job: Job): StoredCall => job.params as StoredCall

export function jobView(job: Job, progress: unknown = job.progress): JobView {
  const { id, tool, caller, state, timeout_ms, created_at, started_at, ended_at, result } = job
  return { id, tool_name: tool, caller, state, timeout_ms, created_at, started_at, ended_at, progress, result }
}

/** What a task is run with. */
export interface TaskContext {
  readonly tenant: string
  /** Who calls it off does not want it to fail: it gives what it has so far. */
  readonly signal: CancelSignal
  /** Reports progress; the last report is stored. */
  report(progress: unknown): void
}

/** Work of the server's own that goes on as a job, and is no call of a tool. It is begun once, and never repeated. */
export interface Task {
  run(params: unknown, context: TaskContext): Promise<unknown>
}

/** What stands in the place of a tool's name; the slash keeps it apart from those. */
export type TaskName = `toolyard/${string}`

export type Tasks = ReadonlyMap<TaskName, Task>

/** A task failed with a message for its caller. */
export class TaskError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TaskError'
  }
}

/** How often progress is stored, and looked whether somebody has ended the job. */
const LOOK_EVERY_MS = 1_000
const MAX_PROGRESS_BYTES = 65_536
/** A job that servers have died of so often is not tried again. */
const MAX_ATTEMPTS = 3
/** The pauses before a tool that is busy is asked again. */
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 15_000
/** The pauses before the end of a job is written again, where the store does not take it. */
const END_PAUSES_MS = [200, 1_000, 5_000, 15_000]

const REFUSED: ReadonlySet<string> = new Set(['TOOL_NOT_FOUND', 'PERMISSION_DENIED', 'INVALID_PARAMETERS'])

/** One job at work on this server: from having been taken to its end. */
export class JobRun {
  readonly job: Job
  /** Settles when this server has nothing to do with the job any more; never rejects. */
  readonly done: Promise<void>
  readonly #installation: Installation
  /** What is to be done, where that is no call of a tool. */
  readonly #task: Task | undefined
  readonly #cancellation = new Cancellation()
  /** Whether a call of the tool may be repeated. */
  readonly #repeatable: boolean
  #progress: unknown = null
  #unsaved = false
  /** Why it was cancelled: by a caller, by a shutdown, or because another server took the job. */
  #calledOff: 'cancelled' | 'shutdown' | 'lost' | undefined

  constructor(job: Job, installation: Installation, task?: Task) {
    this.job = job
    this.#installation = installation
    this.#task = task
    const effect = installation.manager.getExecutor().effectOf(job.tool)
    this.#repeatable = effect === 'read' || effect === 'idempotent'
    this.done = this.#run()
  }

  /** What the tool reported last. */
  get progress(): unknown {
    return this.#progress
  }

  /** Cancels the tool call. The caller marks the job as cancelled. */
  cancel(why: 'cancelled' | 'shutdown' | 'lost'): void {
    this.#calledOff ??= why
    this.#cancellation.abort(undefined)
  }

  async #run(): Promise<void> {
    const { log } = this.#installation
    const watching = this.#watch()
    try {
      const result = await (this.#task === undefined ? this.#work() : this.#runTask(this.#task))
      watching.stop()
      // What may be repeated is left to the next server, or to this one when it is back.
      const left = this.#calledOff === 'shutdown' && this.#repeatable && wasCancelled(result)
      if (left || this.#calledOff === 'lost') return
      await this.#end(this.#stored(result))
    } catch (err) {
      writeLog(log, 'error', { err, job: this.job.id, tool: this.job.tool }, 'The end of a job could not be stored')
    } finally {
      watching.stop()
    }
  }

  /** Runs the tool; where it is busy, again and again, as long as the job has time. */
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
    const callOff = clock.after(job.timeout_ms, () => this.#cancellation.abort(undefined))
    const envelope = () => ({ tool_name: job.tool, execution_time_ms: clock.now() - startedMs })
    try {
      if (job.attempts > 1) throw new TaskError('The server ended before this did. Start it again: it goes on.')
      const context = { tenant: job.tenant, signal: this.#cancellation, report: this.#report }
      return { success: true, result: await task.run(job.params, context), ...envelope() }
    } catch (err) {
      const known = err instanceof TaskError
      if (!known) writeLog(log, 'error', { err, job: job.id, tool: job.tool }, 'A task of the server failed')
      const error = known ? err.message : 'It could not be done: the log of the server says more.'
      return { success: false, error, error_code: 'EXECUTION_ERROR', ...envelope() }
    } finally {
      callOff()
    }
  }

  get #executor() {
    return this.#installation.manager.getExecutor()
  }

  #context(): CallContext {
    const { job } = this
    // A write is known by its job, so that one which another server has begun is never run again.
    const { traceparent, idempotency_key: key = this.#repeatable ? undefined : job.id } = callOf(job)
    return {
      tenant: job.tenant,
      flags: this.#installation.tenants.flags(job.tenant),
      source: 'job',
      timeoutMs: job.timeout_ms,
      signal: this.#cancellation,
      report: this.#report,
      ...(job.caller !== null && { caller: job.caller }),
      ...(key !== undefined && { idempotencyKey: key }),
      ...(traceparent !== undefined && { traceparent }),
    }
  }

  readonly #report = (progress: unknown): void => {
    try {
      this.#progress = snapshotResult(progress, MAX_PROGRESS_BYTES)
      this.#unsaved = true
    } catch (err) {
      writeLog(this.#installation.log, 'debug', { err, job: this.job.id }, 'A report of progress was left out')
    }
  }

  /** The result to store, with facts that the executor can't know. */
  #stored(result: ToolResult): ToolResult {
    if (result.success) return result
    const { job } = this
    const mayHaveHappened = job.attempts > 1 && !this.#repeatable && REFUSED.has(result.error_code)
    const ended = this.#calledOff === 'shutdown' && wasCancelled(result)
    return {
      ...result,
      ...(ended && { error: `Tool '${job.tool}' was called off because the server was shut down` }),
      ...(mayHaveHappened && { outcome: 'unknown' }),
    }
  }

  async #end(result: ToolResult): Promise<void> {
    const { storage, clock } = this.#installation
    const cutShort = this.#task === undefined ? wasCancelled(result) : result.success
    const state = this.#calledOff === 'cancelled' && cutShort ? 'cancelled' : 'done'
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

  /** Stores progress now and then, and notices when somebody else has ended or taken the job. */
  #watch(): { stop(): void } {
    const { storage, clock } = this.#installation
    const { id, tenant, server } = this.job
    let callOff = (): void => {}
    let stopped = false
    const look = async (): Promise<void> => {
      try {
        if (this.#unsaved) {
          this.#unsaved = false
          await storage.jobs.progress(id, this.#progress)
        }
        const now = await storage.jobs.get(tenant, id)
        if (now?.state !== 'running' || now.server !== server) this.cancel('lost')
      } catch (err) {
        writeLog(
          this.#installation.log,
          'debug',
          { err, job: id },
          'A job could not be looked after: again in a second',
        )
      }
      if (!stopped) callOff = clock.after(LOOK_EVERY_MS, () => void look())
    }
    callOff = clock.after(LOOK_EVERY_MS, () => void look())
    return {
      stop() {
        stopped = true
        callOff()
      },
    }
  }
}

const wasCancelled = (result: ToolResult): boolean => !result.success && result.error_code === 'CANCELLED'

const givenUp = ({ attempts }: Job): ToolExecutionError =>
  new ToolExecutionError(
    'EXECUTION_ERROR',
    `The job was begun ${attempts - 1} times, and each time its server ended before it did: it is not tried again`,
  )
