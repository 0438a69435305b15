import type { Job, JobState } from '../../core/storage/job-store.ts'
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

/** What is kept of the call behind a job, in the place of its parameters. */
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
