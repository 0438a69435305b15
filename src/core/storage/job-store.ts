import type { ToolResult } from '../tool-result.ts'

export type JobState = 'queued' | 'running' | 'done' | 'cancelled'

/** A call that is worked on in the background. */
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
  /** What the tool reported last. */
  readonly progress: unknown
  /** The envelope, when it is done. */
  readonly result: ToolResult | null
  /** The server instance that works on it. */
  readonly server: string | null
  readonly attempts: number
}

export type NewJob = Pick<Job, 'id' | 'tenant' | 'caller' | 'tool' | 'params' | 'timeout_ms' | 'created_at'>

export interface JobStore {
  create(job: NewJob): Promise<void>
  get(tenant: string, id: string): Promise<Job | undefined>
  /** The newest first; only those of one caller, and of one tool, where these are named. */
  list(tenant: string, limit: number, caller?: string, tool?: string): Promise<readonly Job[]>
  /** Takes a job that waits, or whose server has died, for this instance; undefined where another has it or it is over. */
  take(id: string, now: string): Promise<Job | undefined>
  /** Jobs that wait, or whose server has died, oldest first. */
  waiting(limit: number): Promise<readonly Pick<Job, 'id' | 'tenant'>[]>
  progress(id: string, progress: unknown): Promise<void>
  /** Ends it, unless it has ended already; false where it has. */
  end(id: string, state: 'done' | 'cancelled', result: ToolResult, now: string): Promise<boolean>
}

/** Hands jobs to the servers that work on them. What a job is, and who has it, is the job store's. */
export interface JobQueue {
  /** Tells the servers of a job that has been created. */
  add(id: string): Promise<void>
  /**
   * Hands out jobs from now on, some at a time: those added, those that waited before, and those whose server has died.
   * `run` settles when this server is done with the job, whether or not it was the one to run it.
   */
  work(run: (id: string) => Promise<void>): Promise<void>
  /** Hands out no more, and waits for those that run, but not longer than the limit. */
  close(limitMs: number): Promise<void>
}
