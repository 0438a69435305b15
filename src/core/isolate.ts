import type { IsolatedHandler } from './handler.ts'
import type { Log } from './log.ts'

/** One piece of work for a process outside ours. */
export interface IsolatedTask extends IsolatedHandler {
  /** The tool that it is for: errors name it. */
  readonly tool: string
  readonly params: unknown
  readonly tenant: string
  readonly flags: Readonly<Record<string, boolean>>
  readonly report: (progress: unknown) => void
  readonly log: Log
  /** Set when a process has taken the task: before that, a deadline passed while waiting. */
  started: boolean
}

/**
 * Runs code where it can be stopped. Settles with the handler's value, or rejects with what the handler threw, or
 * with a `ToolExecutionError`: `SERVICE_UNAVAILABLE` where the queue is full or the pool is closed, `EXECUTION_ERROR`
 * where the process ran out of memory or died. When `signal` aborts, a task that waits is dropped and one that runs
 * is ended with its process; the promise then rejects with the signal's reason.
 */
export interface Isolate {
  run(task: IsolatedTask, signal: AbortSignal): Promise<unknown>
  close(): Promise<void>
}
