import type { ToolResult } from '../tool-result.ts'
import type { Quota } from './quota.ts'

export type JobState = 'queued' | 'running' | 'done' | 'cancelled'

/** A call that runs in the background. */
export interface Job {
  readonly id: string
  readonly tenant: string
  readonly caller: string | null
  readonly tool: string
  readonly params: unknown
  readonly timeout_ms: number
  readonly state: JobState
  readonly created_at: string
  readonly started_at: string | null
  readonly ended_at: string | null
  /** The last progress report of the tool. */
  readonly progress: unknown
  readonly result: ToolResult | null
  /** The server instance that runs it. */
  readonly server: string | null
  readonly attempts: number
}

export type NewJob = Pick<Job, 'id' | 'tenant' | 'caller' | 'tool' | 'params' | 'timeout_ms' | 'created_at'>

export type JobParts = 'whole' | 'result' | 'state'

export interface JobStore {
  /** Rejects with RATE_LIMITED if the tenant would exceed the quota. */
  create(job: NewJob, quota?: Quota): Promise<void>
  /** Parameters and results may have megabytes: `state` has neither, and `result` no parameters. */
  get(tenant: string, id: string, parts?: JobParts): Promise<Job | undefined>
  /** The tenant of a job, to record that another one asked for it. */
  tenantOf(id: string): Promise<string | undefined>
  /**
   * Newest first, optionally of one caller. Only those of one tool have their parameters, and results of up to 10,000
   * characters.
   */
  list(tenant: string, limit: number, caller?: string, tool?: string): Promise<readonly Job[]>
  /** Claims a queued job, or one whose server has died. Undefined if another server has it or it has ended. */
  take(id: string, now: string): Promise<Job | undefined>
  /**
   * Queued jobs and those whose server has died, optionally of one caller. Tenants take turns; of each, the oldest comes
   * first.
   */
  waiting(limit: number, caller?: string): Promise<readonly Pick<Job, 'id' | 'tenant'>[]>
  progress(id: string, progress: unknown): Promise<void>
  /** Returns false if it has already ended. */
  end(id: string, state: 'done' | 'cancelled', result: ToolResult, now: string): Promise<boolean>
}

/** Distributes jobs to servers. The job store holds their state. */
export interface JobQueue {
  add(id: string, tenant: string): Promise<void>
  /**
   * Starts to process jobs, a few at a time: new ones, waiting ones, and those whose server has died. `run` settles
   * when this server is done with the job, whether or not it ran it.
   */
  work(run: (id: string) => Promise<void>): Promise<void>
  /** Stops, and waits up to `limitMs` for running jobs. */
  close(limitMs: number): Promise<void>
}
