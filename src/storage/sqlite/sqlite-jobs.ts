import type { Job, JobStore, NewJob } from '../../core/storage/job-store.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import type { SqliteInstances } from './sqlite-instances.ts'

type JobRow = Omit<Job, 'params' | 'progress' | 'result'> & {
  readonly params: string
  readonly progress: string | null
  readonly result: string | null
}

const SWEPT_AT_ONCE = 5_000

export class SqliteJobs implements JobStore {
  readonly #database: SqliteDatabase
  readonly #instances: SqliteInstances

  constructor(database: SqliteDatabase, instances: SqliteInstances) {
    this.#database = database
    this.#instances = instances
  }

  async create(job: NewJob): Promise<void> {
    this.#database.run(
      `INSERT INTO jobs (id, tenant, caller, tool, params, timeout_ms, state, created_at, attempts)
       VALUES (?, ?, ?, ?, ?, ?, 'queued', ?, 0)`,
      job.id,
      job.tenant,
      job.caller,
      job.tool,
      JSON.stringify(job.params ?? null),
      job.timeout_ms,
      job.created_at,
    )
  }

  async get(tenant: string, id: string): Promise<Job | undefined> {
    const row = this.#database.get<JobRow>('SELECT * FROM jobs WHERE id = ? AND tenant = ?', id, tenant)
    return row && readRow(row)
  }

  async list(tenant: string, limit: number, caller?: string, tool?: string): Promise<readonly Job[]> {
    const rows = this.#database.all<JobRow>(
      `SELECT * FROM jobs WHERE tenant = ? AND caller IS coalesce(?, caller) AND tool = coalesce(?, tool)
       ORDER BY created_at DESC, id DESC LIMIT ?`,
      tenant,
      caller ?? null,
      tool ?? null,
      limit,
    )
    return rows.map(readRow)
  }

  async take(id: string, now: string): Promise<Job | undefined> {
    const row = this.#database.get<JobRow>(
      `UPDATE jobs SET state = 'running', server = ?, started_at = ?, attempts = attempts + 1
       WHERE id = ? AND (state = 'queued' OR state = 'running' AND
         NOT EXISTS (SELECT 1 FROM instances WHERE instance = server AND seen_at >= ?))
       RETURNING *`,
      this.#instances.names[0] as string,
      now,
      id,
      this.#instances.deadBefore(),
    )
    return row && readRow(row)
  }

  async waiting(limit: number): Promise<readonly Pick<Job, 'id' | 'tenant'>[]> {
    const rows = this.#database.all<Pick<Job, 'id' | 'tenant'>>(
      `SELECT id, tenant FROM jobs WHERE state IN ('queued', 'running') AND (state = 'queued' OR
         NOT EXISTS (SELECT 1 FROM instances WHERE instance = server AND seen_at >= ?))
       ORDER BY created_at, id LIMIT ?`,
      this.#instances.deadBefore(),
      limit,
    )
    return rows.map((row) => ({ ...row }))
  }

  async progress(id: string, progress: unknown): Promise<void> {
    this.#database.run(
      "UPDATE jobs SET progress = ? WHERE id = ? AND state = 'running'",
      JSON.stringify(progress ?? null),
      id,
    )
  }

  async end(id: string, state: 'done' | 'cancelled', result: ToolResult, now: string): Promise<boolean> {
    const ended = this.#database.run(
      "UPDATE jobs SET state = ?, result = ?, ended_at = ? WHERE id = ? AND state IN ('queued', 'running')",
      state,
      JSON.stringify(result),
      now,
      id,
    )
    return ended > 0
  }

  /** Forgets what ended before a time. */
  sweep(before: number): void {
    this.#database.run(
      'DELETE FROM jobs WHERE rowid IN (SELECT rowid FROM jobs WHERE ended_at < ? LIMIT ?)',
      new Date(before).toISOString(),
      SWEPT_AT_ONCE,
    )
  }
}

const readRow = (row: JobRow): Job => ({
  ...row,
  params: JSON.parse(row.params),
  progress: row.progress === null ? null : JSON.parse(row.progress),
  result: row.result === null ? null : JSON.parse(row.result),
})
