import type { Job, JobStore, NewJob } from '../../core/storage/job-store.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import type { Presence } from './presence.ts'

const CREATE = `
  INSERT INTO toolyard.jobs (id, tenant, caller, tool, params, timeout_ms, created_at, state, attempts)
  VALUES ($1, $2, $3, $4, $5, $6, $7, 'queued', 0)`

const GET = 'SELECT * FROM toolyard.jobs WHERE tenant = $1 AND id = $2'

const LIST = `
  SELECT * FROM toolyard.jobs
  WHERE tenant = $1 AND ($3::text IS NULL OR caller = $3) AND ($4::text IS NULL OR tool = $4)
  ORDER BY created_at DESC, id DESC LIMIT $2`

const TAKE = `
  UPDATE toolyard.jobs SET state = 'running', server = $2, started_at = $3, attempts = attempts + 1
  WHERE id = (
    SELECT id FROM toolyard.jobs
    WHERE id = $1 AND (state = 'queued' OR state = 'running' AND NOT toolyard.is_alive(server, $2, $4))
    FOR UPDATE SKIP LOCKED
  )
  RETURNING *`

const WAITING = `
  SELECT id, tenant FROM toolyard.jobs
  WHERE state IN ('queued', 'running') AND (state = 'queued' OR NOT toolyard.is_alive(server, $1, $2))
  ORDER BY created_at, id LIMIT $3`

const PROGRESS = "UPDATE toolyard.jobs SET progress = $3 WHERE id = $1 AND state = 'running' AND server = ANY ($2)"

const END = `
  UPDATE toolyard.jobs SET state = $2, result = $3, ended_at = $4
  WHERE id = $1 AND state IN ('queued', 'running')`

/** Jobs as they stand in the table: params, progress and result as JSON text. */
interface JobRow extends Omit<Job, 'params' | 'progress' | 'result'> {
  readonly params: string
  readonly progress: string | null
  readonly result: string | null
}

/** Jobs of all servers. */
export class PostgresJobs implements JobStore {
  readonly #database: PostgresDatabase
  readonly #presence: Presence

  constructor(database: PostgresDatabase, presence: Presence) {
    this.#database = database
    this.#presence = presence
  }

  async create({ id, tenant, caller, tool, params, timeout_ms, created_at }: NewJob): Promise<void> {
    const values = [id, tenant, caller, tool, JSON.stringify(params ?? null), timeout_ms, created_at]
    await this.#database.run(CREATE, values)
  }

  async get(tenant: string, id: string): Promise<Job | undefined> {
    const { rows } = await this.#database.run<JobRow>(GET, [tenant, id])
    return rows[0] && toJob(rows[0])
  }

  async list(tenant: string, limit: number, caller?: string, tool?: string): Promise<readonly Job[]> {
    const { rows } = await this.#database.run<JobRow>(LIST, [tenant, limit, caller ?? null, tool ?? null])
    return rows.map(toJob)
  }

  async take(id: string, now: string): Promise<Job | undefined> {
    const { instance, aliveMs } = this.#presence
    const { rows } = await this.#database.run<JobRow>(TAKE, [id, instance, now, aliveMs])
    return rows[0] && toJob(rows[0])
  }

  async waiting(limit: number): Promise<readonly Pick<Job, 'id' | 'tenant'>[]> {
    const { instance, aliveMs } = this.#presence
    const { rows } = await this.#database.run<Pick<Job, 'id' | 'tenant'>>(WAITING, [instance, aliveMs, limit])
    return rows
  }

  async progress(id: string, progress: unknown): Promise<void> {
    await this.#database.run(PROGRESS, [id, this.#presence.names, JSON.stringify(progress ?? null)])
  }

  async end(id: string, state: 'done' | 'cancelled', result: ToolResult, now: string): Promise<boolean> {
    const { count } = await this.#database.run(END, [id, state, JSON.stringify(result), now])
    return count > 0
  }
}

const fromText = (text: string | null): unknown => (text === null ? null : JSON.parse(text))

const toJob = (row: JobRow): Job => ({
  ...row,
  params: JSON.parse(row.params),
  progress: fromText(row.progress),
  result: fromText(row.result) as ToolResult | null,
})
