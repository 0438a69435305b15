import type { IsolatedHandler } from './handler.ts'
import type { Log } from './log.ts'

/** A task for a child process. */
export interface IsolatedTask extends IsolatedHandler {
  /** The tool, for error messages. */
  readonly tool: string
  readonly params: unknown
  readonly tenant: string
  readonly flags: Readonly<Record<string, boolean>>
  readonly report: (progress: unknown) => void
  readonly log: Log
  /** Set when a process takes the task; false means that it still waits. */
  started: boolean
}

/**
 * Runs code in a process that can be killed. Resolves with the handler's value, or rejects with the handler's error or a
 * `ToolExecutionError`: `SERVICE_UNAVAILABLE` if the queue is full or the pool is closed, `EXECUTION_ERROR` if the
 * process ran out of memory or ended. When `signal` aborts, a waiting task is dropped and a running one is killed; the
 * promise then rejects with the signal's reason.
 */
export interface Isolate {
  run(task: IsolatedTask, signal: AbortSignal): Promise<unknown>
  close(): Promise<void>
}
