import type { Job, JobParts, JobStore, NewJob } from '../../core/storage/job-store.ts'
import { checkQuota, type Quota, type StoredUsage } from '../../core/storage/quota.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import {
  ADD_BYTES,
  ask,
  type Database,
  type Expiry,
  freeBytes,
  placeholders,
  type StoreEntry,
  SWEEP_LIMIT,
  USAGE,
  Where,
} from './database.ts'
import { tenantOf } from './runs.ts'
import type { Table } from './table.ts'

export const jobTable: Table = {
  name: 'jobs',
  columns: {
    id: 'id',
    tenant: 'id',
    caller: 'text?',
    tool: 'text',
    params: 'text',
    timeout_ms: 'real',
    state: 'text',
    created_at: 'id',
    started_at: 'text?',
    ended_at: 'id?',
    progress: 'text?',
    result: 'text?',
    server: 'text?',
    attempts: 'integer',
    bytes: { type: 'bigint', default: 0, since: 8 },
  },
  key: 'id',
  indexes: {
    jobs_by_tenant: 'tenant, created_at, id',
    jobs_to_do: { on: 'created_at, id', where: "state IN ('queued', 'running')" },
    jobs_ended: { on: 'ended_at', where: 'ended_at IS NOT NULL' },
    jobs_to_do_by_tenant: { on: 'tenant', where: "state IN ('queued', 'running')", since: 8 },
  },
  large: true,
}

/** What a tenant stores, besides knowledge. */
const byteTable: Table = {
  name: 'job_bytes',
  since: 8,
  columns: { tenant: 'id', bytes: 'bigint' },
  key: 'tenant',
  steps: {
    8: {
      after: `
      UPDATE toolyard.jobs SET bytes = octet_length(params) + coalesce(octet_length(result), 0);
      INSERT INTO toolyard.job_bytes (tenant, bytes) SELECT tenant, sum(bytes) FROM toolyard.jobs GROUP BY tenant`,
    },
    // Responses have a limit of their own.
    18: {
      after: `
      UPDATE toolyard.job_bytes SET bytes = bytes - coalesce((
        SELECT sum(bytes) FROM toolyard.chat_turns
        WHERE chat_turns.tenant = job_bytes.tenant AND substr(chat, 1, 5) = 'resp_'), 0);
      UPDATE toolyard.job_bytes SET bytes = 0 WHERE bytes < 0`,
    },
  },
}

const CREATE_JOB = `
  INSERT INTO toolyard.jobs (id, tenant, caller, tool, params, timeout_ms, created_at, bytes, state, attempts)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'queued', 0)`
const TAKE_JOB = `
  UPDATE toolyard.jobs SET state = 'running', server = ?, started_at = ?, attempts = attempts + 1
  WHERE id = ? AND (state = 'queued' OR state = 'running' AND NOT`
const WAITING_JOBS = `
  SELECT id, tenant, created_at, row_number() OVER (PARTITION BY tenant ORDER BY created_at, id) AS turn
  FROM toolyard.jobs WHERE state IN ('queued', 'running') AND (state = 'queued' OR NOT`
const PROGRESS = "UPDATE toolyard.jobs SET progress = ? WHERE id = ? AND state = 'running' AND server IN"
const END_JOB = `
  UPDATE toolyard.jobs SET state = ?, result = ?, ended_at = ?, bytes = bytes + ?
  WHERE id = ? AND state IN ('queued', 'running') RETURNING tenant`
const SWEEP_JOBS = `
  DELETE FROM toolyard.jobs WHERE id IN (SELECT id FROM toolyard.jobs WHERE ended_at < ? LIMIT ?)
  RETURNING tenant, bytes`

/** A job as a row: `params`, `progress` and `result` are JSON texts. */
type JobRow = Omit<Job, 'params' | 'progress' | 'result'> & {
  /** The size of `params` and `result`. */
  readonly bytes: number
  readonly params: string
  readonly progress: string | null
  readonly result: string | null
}

/** Jobs of all servers. */
class Jobs implements JobStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async create(job: NewJob, quota?: Quota): Promise<void> {
    const { id, tenant, caller, tool, timeout_ms, created_at } = job
    const params = JSON.stringify(job.params ?? null)
    const bytes = Buffer.byteLength(params)
    await this.#database.transaction(function* () {
      if (quota !== undefined) {
        const { rows } = yield* ask<StoredUsage>(USAGE, [tenant, tenant, tenant, tenant, tenant])
        checkQuota(tenant, quota, rows[0] as StoredUsage, { queued_jobs: 1, storage_bytes: bytes })
      }
      yield* ask(CREATE_JOB, [id, tenant, caller, tool, params, timeout_ms, created_at, bytes])
      yield* ask(ADD_BYTES, [tenant, bytes])
    })
  }

  async get(tenant: string, id: string, parts: JobParts = 'whole'): Promise<Job | undefined> {
    const sql = ['SELECT', JOB_COLUMNS[parts], 'FROM toolyard.jobs WHERE tenant = ? AND id = ?']
    const { rows } = await this.#database.run<JobRow>(sql.join(' '), [tenant, id])
    return rows[0] && readJob(rows[0])
  }

  tenantOf(id: string): Promise<string | undefined> {
    return tenantOf(this.#database, jobTable, id)
  }

  async list(tenant: string, limit: number, caller?: string, tool?: string): Promise<readonly Job[]> {
    const where = new Where().and('tenant = ?', tenant).and('caller = ?', caller).and('tool = ?', tool)
    const columns = tool === undefined ? JOB_COLUMNS.state : TASK_COLUMNS
    const sql = ['SELECT', columns, 'FROM toolyard.jobs WHERE', where.sql, 'ORDER BY created_at DESC, id DESC LIMIT ?']
    const { rows } = await this.#database.run<JobRow>(sql.join(' '), [...where.values, limit])
    return rows.map(readJob)
  }

  async take(id: string, now: string): Promise<Job | undefined> {
    const alive = this.#database.alive('server')
    const sql = [TAKE_JOB, alive.sql, ') RETURNING *'].join(' ')
    const { rows } = await this.#database.run<JobRow>(sql, [this.#database.names[0], now, id, ...alive.values])
    return rows[0] && readJob(rows[0])
  }

  async waiting(limit: number, caller?: string): Promise<readonly Pick<Job, 'id' | 'tenant'>[]> {
    const alive = this.#database.alive('server')
    const where = new Where().and('caller = ?', caller)
    const waiting = [WAITING_JOBS, alive.sql, ') AND', where.sql].join(' ')
    const sql = ['SELECT id, tenant FROM (', waiting, ') AS waiting ORDER BY turn, created_at, id LIMIT ?'].join(' ')
    return (await this.#database.run<Pick<Job, 'id' | 'tenant'>>(sql, [...alive.values, ...where.values, limit])).rows
  }

  async progress(id: string, progress: unknown): Promise<void> {
    const { names } = this.#database
    const sql = [PROGRESS, placeholders(names)].join(' ')
    await this.#database.run(sql, [JSON.stringify(progress ?? null), id, ...names])
  }

  async end(id: string, state: 'done' | 'cancelled', result: ToolResult, now: string): Promise<boolean> {
    const text = JSON.stringify(result)
    const bytes = Buffer.byteLength(text)
    return this.#database.transaction(function* () {
      const { rows } = yield* ask<{ tenant: string }>(END_JOB, [state, text, now, bytes, id])
      for (const { tenant } of rows) yield* ask(ADD_BYTES, [tenant, bytes])
      return rows.length > 0
    })
  }

  async sweep({ before }: Expiry): Promise<void> {
    await this.#database.transaction(function* () {
      const ended = [new Date(before).toISOString(), SWEEP_LIMIT]
      const { rows } = yield* ask<{ tenant: string; bytes: number }>(SWEEP_JOBS, ended)
      yield* freeBytes(rows)
    })
  }
}

/** Parameters and results may have a megabyte each. */
const jobColumns = (params: string, result: string): string =>
  `id, tenant, caller, tool, ${params}, timeout_ms, state, created_at, started_at, ended_at, progress, ${result}, server,
  attempts`
const JOB_COLUMNS: Readonly<Record<JobParts, string>> = {
  whole: '*',
  result: jobColumns("'null' AS params", 'result'),
  state: jobColumns("'null' AS params", 'NULL AS result'),
}
/** Failures are short. */
const TASK_COLUMNS = jobColumns('params', 'CASE WHEN length(result) <= 10000 THEN result END AS result')

const readJob = ({ bytes: _, ...row }: JobRow): Job => ({
  ...row,
  params: JSON.parse(row.params),
  progress: row.progress === null ? null : JSON.parse(row.progress),
  result: row.result === null ? null : JSON.parse(row.result),
})

export const jobs: StoreEntry<JobStore> = { tables: [jobTable, byteTable], open: (database) => new Jobs(database) }
