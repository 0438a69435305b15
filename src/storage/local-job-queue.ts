import type { Clock } from '../core/clock.ts'
import { type Log, writeLog } from '../core/log.ts'
import type { JobQueue, JobStore } from '../core/storage/job-store.ts'

export interface LocalJobQueueOptions {
  readonly clock: Clock
  readonly log: Log
  /** How many jobs run at a time: 16. One tenant has at most half of them. */
  readonly size?: number
}

const SIZE = 16
/** How often jobs are looked for that nobody told of: those of a process that died. */
const LOOK_EVERY_MS = 5_000
const MOST_SEEN = 1_000

/** Works on the jobs of a store in this process. The store is the queue: nothing is kept here but what runs. */
export class LocalJobQueue implements JobQueue {
  readonly #store: Pick<JobStore, 'waiting'>
  readonly #clock: Clock
  readonly #log: Log
  readonly #size: number
  readonly #perTenant: number
  /** What runs, and whose it is. */
  readonly #running = new Map<string, string>()
  #run: ((id: string) => Promise<void>) | undefined
  #looking: Promise<void> | undefined
  #again = false
  #stopLooking: () => void = () => {}
  #idle: (() => void) | undefined

  constructor(store: Pick<JobStore, 'waiting'>, { clock, log, size = SIZE }: LocalJobQueueOptions) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#size = size
    this.#perTenant = Math.max(1, Math.floor(size / 2))
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
      const callOff = this.#clock.after(limitMs, resolve)
      this.#idle = () => {
        callOff()
        resolve()
      }
    })
  }

  #lookRegularly(): void {
    this.#look()
    this.#stopLooking = this.#clock.after(LOOK_EVERY_MS, () => this.#lookRegularly())
  }

  /** One look at a time; whoever asks meanwhile is served by one more. */
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
    if (this.#running.size >= this.#size) return
    try {
      for (const { id, tenant } of await this.#store.waiting(MOST_SEEN)) {
        const held = [...this.#running.values()].filter((other) => other === tenant).length
        if (held < this.#perTenant && this.#running.size < this.#size) this.#start(id, tenant)
      }
    } catch (err) {
      writeLog(this.#log, 'error', { err }, 'Waiting jobs could not be read: they are looked for again later')
    }
  }

  #start(id: string, tenant: string): void {
    const run = this.#run
    if (run === undefined || this.#running.has(id)) return
    this.#running.set(id, tenant)
    const over = (): void => {
      this.#running.delete(id)
      if (this.#running.size === 0) this.#idle?.()
    }
    run(id).then(
      () => {
        over()
        this.#look()
      },
      (err) => {
        over()
        // Not looked for at once: what has just failed would fail again.
        writeLog(this.#log, 'error', { err, job: id }, 'A job could not be worked on: it is tried again later')
      },
    )
  }
}
