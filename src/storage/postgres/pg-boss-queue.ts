import type { PgBoss } from 'pg-boss'
import { systemClock, within } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { loadOptional } from '../../core/optional-package.ts'
import type { Job, JobQueue, JobStore } from '../../core/storage/job-store.ts'
import { PostgresDatabase, postgresError } from './postgres-database.ts'

const SCHEMA = 'toolyard_jobs'
const QUEUE = 'jobs'
const CONCURRENCY = 16
const CONNECTIONS = 4
const ANSWER_MS = 5_000
/** How often the queue looks for jobs in the store that were not announced. */
const LOOK_EVERY_MS = 5_000
const LOOKUP_LIMIT = 500
/** An unreachable database is logged once a minute. */
const SAY_EVERY_MS = 60_000

/**
 * A server sends a heartbeat for its jobs every second, and loses them after 12 seconds without one. That is a little
 * longer than the store takes to count a server as dead, so that the next server may take the job.
 */
const HANDS_OVER = {
  heartbeatSeconds: 12,
  retryLimit: 10,
  retryDelay: 1,
  expireInSeconds: 86_400,
  deleteAfterSeconds: 60,
  notify: true,
} as const
const HEARTBEAT_EVERY_S = 1
const SUPERVISE_EVERY_S = 1
const POLL_EVERY_S = 1

interface PgBossQueueOptions {
  readonly store: Pick<JobStore, 'waiting'>
  readonly log: Log
  /** How many jobs run here at a time: 16. One tenant has at most half of them. */
  readonly concurrency?: number
}

/** Distributes jobs among servers with pg-boss, whose tables are in the schema `toolyard_jobs`. */
class PgBossQueue implements JobQueue {
  readonly #boss: PgBoss
  readonly #store: PgBossQueueOptions['store']
  readonly #log: Log
  readonly #concurrency: number
  #stopLooking: (() => void) | undefined

  constructor(boss: PgBoss, { store, log, concurrency = CONCURRENCY }: PgBossQueueOptions) {
    this.#boss = boss
    this.#store = store
    this.#log = log
    this.#concurrency = concurrency
  }

  /** A job that waits or runs is not added again. */
  async add(id: string, tenant: string): Promise<void> {
    await this.#addAll([{ id, tenant }])
  }

  async work(run: (id: string) => Promise<void>): Promise<void> {
    const options = {
      localConcurrency: this.#concurrency,
      localGroupConcurrency: Math.max(1, Math.floor(this.#concurrency / 2)),
      heartbeatRefreshSeconds: HEARTBEAT_EVERY_S,
      pollingIntervalSeconds: POLL_EVERY_S,
      notifyPollingIntervalSeconds: 2 * POLL_EVERY_S,
    }
    try {
      await this.#boss.work<{ id: string }>(QUEUE, options, async (jobs) => {
        for (const { data } of jobs) await this.#run(run, data.id)
      })
    } catch (error) {
      throw postgresError(error)
    }
    const timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref()
    this.#stopLooking = () => clearInterval(timer)
    this.#look()
  }

  async close(limitMs: number): Promise<void> {
    this.#stopLooking?.()
    const stopped = this.#boss.stop({ graceful: true, timeout: limitMs }).catch(() => {})
    // If the database is gone, other servers find the remaining jobs.
    await within(limitMs + ANSWER_MS, stopped, systemClock)
  }

  async #run(run: (id: string) => Promise<void>, id: string): Promise<void> {
    try {
      await run(id)
    } catch (err) {
      writeLog(this.#log, 'error', { err, job: id }, 'A job could not be run. It will be retried.')
      throw err
    }
  }

  /** Adds jobs that wait in the store although no server works on them. */
  #look(): void {
    this.#store
      .waiting(LOOKUP_LIMIT)
      .then((jobs) => this.#addAll(jobs))
      .catch((err) =>
        writeLog(this.#log, 'debug', { err }, 'Waiting jobs could not be read. The next attempt follows.'),
      )
  }

  async #addAll(waiting: readonly Pick<Job, 'id' | 'tenant'>[]): Promise<void> {
    if (waiting.length === 0) return
    const jobs = waiting.map(({ id, tenant }) => ({ data: { id }, singletonKey: id, group: { id: tenant } }))
    try {
      await this.#boss.insert(QUEUE, jobs)
    } catch (error) {
      throw postgresError(error)
    }
  }
}

/** Opens the queue, in the thread that runs the tools. */
export async function openPgBossQueue(url: string, options: PgBossQueueOptions): Promise<JobQueue> {
  const createSchema = await lacksSchema(url)
  const { PgBoss } = await loadOptional('PostgreSQL', ['pg', 'pg-boss'], () => import('pg-boss'))
  const limits = { query_timeout: 6 * ANSWER_MS, keepAlive: true }
  const boss = new PgBoss({
    ...limits,
    connectionString: url,
    application_name: 'toolyard jobs',
    schema: SCHEMA,
    createSchema,
    max: CONNECTIONS,
    connectionTimeoutMillis: ANSWER_MS,
    useListenNotify: true,
    schedule: false,
    superviseIntervalSeconds: SUPERVISE_EVERY_S,
    monitorIntervalSeconds: SUPERVISE_EVERY_S,
    maintenanceIntervalSeconds: 60,
  })
  let saidAt = Number.NEGATIVE_INFINITY
  boss.on('error', (error) => {
    if (performance.now() < saidAt + SAY_EVERY_MS) return
    saidAt = performance.now()
    writeLog(options.log, 'error', {}, `Jobs cannot be distributed. ${postgresError(error).message}.`)
  })
  boss.on('warning', ({ message }) => writeLog(options.log, 'warn', {}, message))
  try {
    await boss.start()
    await boss.createQueue(QUEUE, { policy: 'exclusive', ...HANDS_OVER })
    await boss.updateQueue(QUEUE, HANDS_OVER)
  } catch (error) {
    await boss.stop({ graceful: false }).catch(() => {})
    throw postgresError(error)
  }
  return new PgBossQueue(boss, options)
}

/** Creating a schema needs rights that the user may lack, even if it exists. */
async function lacksSchema(url: string): Promise<boolean> {
  const database = await PostgresDatabase.open(url, 1)
  try {
    const { rows } = await database.run<{ lacks: boolean }>('SELECT to_regnamespace($1) IS NULL AS lacks', [SCHEMA])
    return rows[0]?.lacks ?? true
  } finally {
    await database.close()
  }
}
