import type { CancelSignal } from '../../core/cancellation.ts'

/** What a task is run with. */
export interface TaskContext {
  readonly tenant: string
  /** Who calls it off does not want it to fail: it gives what it has so far. */
  readonly signal: CancelSignal
  /** Says how far it is; the last report is kept. */
  report(progress: unknown): void
}

/** Work of the server's own that goes on as a job, and is no call of a tool. It is begun once, and never repeated. */
export interface Task {
  run(params: unknown, context: TaskContext): Promise<unknown>
}

/** What stands in the place of a tool's name; the slash keeps it apart from those. */
export type TaskName = `toolyard/${string}`

export type Tasks = ReadonlyMap<TaskName, Task>

/** A task went wrong, and the message is meant to be read by whoever asked for it. */
export class TaskError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TaskError'
  }
}
