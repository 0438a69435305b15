import type { Clock } from '../core/clock.ts'
import { FairPool } from '../core/execution/fair-pool.ts'
import { type Log, writeLog } from '../core/log.ts'
import type { JobQueue, JobStore } from '../core/storage/job-store.ts'

interface LocalJobQueueOptions {
  readonly clock: Clock
  readonly log: Log
  /** How many jobs run at a time: 16. One tenant has at most half of them. */
  readonly size?: number
}

const SIZE = 16
/** How often the queue looks for jobs of processes that died. */
const LOOK_EVERY_MS = 5_000
const LOOKUP_LIMIT = 1_000

/** Runs the jobs of a store in this process. The store is the queue. */
export class LocalJobQueue implements JobQueue {
  readonly #store: Pick<JobStore, 'waiting'>
  readonly #clock: Clock
  readonly #log: Log
  readonly #places: FairPool<{ readonly tenant: string }>
  readonly #running = new Set<string>()
  #run: ((id: string) => Promise<void>) | undefined
  #looking: Promise<void> | undefined
  #again = false
  #stopLooking: () => void = () => {}
  #idle: (() => void) | undefined

  constructor(store: Pick<JobStore, 'waiting'>, { clock, log, size = SIZE }: LocalJobQueueOptions) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    // The store holds the jobs that wait, and knows whose turn it is.
    this.#places = new FairPool({ size, queue: 0 })
  }

  async add(): Promise<void> {
    this.#look()
  }

  async work(run: (id: string) => Promise<void>): Promise<void> {
    this.#run = run
    this.#lookRegularly()
  }

  async close(limitMs: number): Promise<void> {
    this.#run = undefined
    this.#stopLooking()
    await this.#looking
    if (this.#running.size === 0) return
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(limitMs, resolve)
      this.#idle = () => {
        cancel()
        resolve()
      }
    })
  }

  #lookRegularly(): void {
    this.#look()
    this.#stopLooking = this.#clock.after(LOOK_EVERY_MS, () => this.#lookRegularly())
  }

  /** One lookup at a time; a request during a lookup causes one more. */
  #look(): void {
    if (this.#run === undefined) return
    if (this.#looking !== undefined) {
      this.#again = true
      return
    }
    this.#looking = this.#fill().finally(() => {
      this.#looking = undefined
      if (!this.#again) return
      this.#again = false
      this.#look()
    })
  }

  async #fill(): Promise<void> {
    try {
      for (const { id, tenant } of await this.#store.waiting(LOOKUP_LIMIT)) {
        this.#start(id, tenant)
      }
    } catch (err) {
      writeLog(this.#log, 'error', { err }, 'Waiting jobs could not be read. The next attempt follows.')
    }
  }

  #start(id: string, tenant: string): void {
    const run = this.#run
    if (run === undefined || this.#running.has(id) || !this.#places.enter(tenant)) return
    this.#running.add(id)
    const over = (): void => {
      this.#running.delete(id)
      this.#places.leave(tenant)
      if (this.#running.size === 0) this.#idle?.()
    }
    run(id).then(
      () => {
        over()
        this.#look()
      },
      (err) => {
        over()
        // No new lookup: the job would probably fail again at once.
        writeLog(this.#log, 'error', { err, job: id }, 'A job could not be run. It will be retried.')
      },
    )
  }
}
