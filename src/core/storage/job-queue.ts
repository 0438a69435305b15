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
