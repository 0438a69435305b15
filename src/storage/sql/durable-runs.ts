import type { OnceClaim, OnceResult, OnceState } from '../../core/once-store.ts'
import type {
  DurableEnd,
  DurableRun,
  DurableRunStore,
  DurableStep,
  NewDurableRun,
  OpenRunFilter,
} from '../../core/storage/durable-run-store.ts'
import type { Quota } from '../../core/storage/quota.ts'
import { checkQuota, type StoredUsage } from '../../core/storage/quota.ts'
import {
  ADD_BYTES,
  ask,
  DAY_MS,
  type Database,
  type Expiry,
  freeBytes,
  placeholders,
  type StoreEntry,
  SWEEP_LIMIT,
  USAGE,
  Where,
  type Work,
} from './database.ts'
import { claimKey, settleKey } from './once.ts'
import { tenantOf } from './runs.ts'
import type { Table } from './table.ts'

const runTable: Table = {
  name: 'durable_runs',
  since: 11,
  columns: {
    id: 'id',
    tenant: 'id',
    caller: 'text',
    model: 'text',
    status: 'text',
    owner: 'id?',
    fence: 'integer',
    resumes: 'integer',
    steps: 'integer',
    fingerprint: 'text',
    request: 'text',
    answer: 'text?',
    wake_at: 'real?',
    created_at: 'real',
    ended_at: 'real?',
  },
  key: 'id',
  indexes: {
    durable_runs_open: { on: 'tenant', where: "status IN ('running', 'waiting')" },
    durable_runs_running: { on: 'created_at', where: "status = 'running'" },
    durable_runs_waiting: { on: 'wake_at', where: "status = 'waiting'" },
    durable_runs_ended: { on: 'ended_at', where: 'ended_at IS NOT NULL' },
  },
  large: true,
  sealed: { request: { place: 'id' }, answer: { place: 'id' } },
}

const stepTable: Table = {
  name: 'run_steps',
  since: 11,
  columns: { run_id: 'id', tenant: 'id', seq: 'integer', kind: 'text', data: 'text', shown: 'text', at: 'real' },
  key: 'run_id, seq',
  large: true,
  rowid: false,
  sealed: { data: { place: 'run_id' } },
}

const INSERT = `
  INSERT INTO toolyard.durable_runs (id, tenant, caller, model, fingerprint, request, created_at, owner, status, fence,
    resumes, steps)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'running', 1, 0, 0) ON CONFLICT (id) DO NOTHING RETURNING *`
/** Locks the run, and numbers its next steps. */
const ADVANCE = `
  UPDATE toolyard.durable_runs SET steps = steps + ?, resumes = 0 WHERE id = ? AND fence = ? AND status = 'running'
  RETURNING steps, tenant`
/** Locks the run, so that no other server takes it meanwhile. That is no progress. */
const LOCK = "UPDATE toolyard.durable_runs SET fence = fence WHERE id = ? AND fence = ? AND status = 'running'"
const STEP = 'INSERT INTO toolyard.run_steps (run_id, tenant, seq, kind, data, shown, at) VALUES (?, ?, ?, ?, ?, ?, ?)'
const END = `
  UPDATE toolyard.durable_runs SET status = ?, answer = ?, owner = NULL, ended_at = ?, wake_at = ?
  WHERE id = ? AND fence = ? AND status = 'running'`
const WAKE_AT = `
  SELECT max(expires_at) AS wake_at FROM toolyard.pauses WHERE run_id = ? AND decision IS NULL AND expires_at > ?`
const CANCEL = `
  UPDATE toolyard.durable_runs SET status = 'cancelled', owner = NULL, fence = fence + 1, ended_at = ?
  WHERE tenant = ? AND id = ? AND status IN ('running', 'waiting')`
/** Nothing continues with the progress. */
const EXPIRE_PAUSES = `
  UPDATE toolyard.pauses SET expires_at = ?, progress = NULL
  WHERE tenant = ? AND run_id = ? AND decision IS NULL AND expires_at > ?`
const SHOWN = `
  SELECT kind, shown FROM toolyard.run_steps WHERE run_id = ? AND tenant = ? AND seq > ? ORDER BY seq`
const DATA = 'SELECT data FROM toolyard.run_steps WHERE run_id = ? ORDER BY seq'
const RELEASE = `
  UPDATE toolyard.durable_runs SET owner = NULL, resumes = resumes - ? WHERE id = ? AND fence = ? AND status = 'running'`
const DUE = `
  SELECT id, tenant FROM (
    SELECT id, tenant, created_at, row_number() OVER (PARTITION BY tenant ORDER BY created_at, id) AS turn
    FROM toolyard.durable_runs WHERE`
const TAKE = `
  UPDATE toolyard.durable_runs SET status = 'running', owner = ?, fence = fence + 1, resumes = resumes + 1
  WHERE id = ? AND`
const SWEEP_STEPS = `
  DELETE FROM toolyard.run_steps WHERE run_id IN (
    SELECT id FROM toolyard.durable_runs WHERE ended_at < ? ORDER BY ended_at, id LIMIT ?)
  RETURNING tenant, octet_length(data) + octet_length(shown) AS bytes`
const SWEEP_RUNS = `
  DELETE FROM toolyard.durable_runs WHERE id IN (
    SELECT id FROM toolyard.durable_runs WHERE ended_at < ? ORDER BY ended_at, id LIMIT ?)
  RETURNING tenant, octet_length(request) AS bytes`

/** The run of a pause waits for the other pending ones, or wakes. Part of the transaction that decides the pause. */
export function* wakeRun(pauseId: string, now: number): Work<void> {
  yield* ask(
    `UPDATE toolyard.durable_runs SET wake_at = coalesce((
       SELECT max(expires_at) FROM toolyard.pauses
       WHERE run_id = durable_runs.id AND decision IS NULL AND expires_at > ?), ?)
     WHERE status = 'waiting' AND id = (SELECT run_id FROM toolyard.pauses WHERE id = ?)`,
    [now, now, pauseId],
  )
}

type RunRow = DurableRun & { readonly owner: string | null; readonly wake_at: number | null; readonly steps: number }

interface Freed {
  readonly tenant: string
  readonly bytes: number
}

/** Runs that survive their process. */
class DurableRuns implements DurableRunStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  create(run: NewDurableRun, quota?: Quota, end?: DurableEnd): Promise<DurableRun | undefined> {
    const { id, tenant, caller, model, fingerprint, request, created_at } = run
    const values = [id, tenant, caller, model, fingerprint, request, created_at, this.#database.names[0]]
    const bytes = Buffer.byteLength(request)
    const create = function* () {
      const { rows } = yield* ask<RunRow>(INSERT, values)
      if (rows[0] === undefined) return undefined
      if (quota !== undefined) {
        const used = yield* ask<StoredUsage>(USAGE, [tenant, tenant, tenant, tenant, tenant])
        // The new one is counted already.
        const usage = used.rows[0] as StoredUsage
        const before = { ...usage, durable_runs: usage.durable_runs - 1 }
        checkQuota(tenant, quota, before, { durable_runs: 1, storage_bytes: bytes })
      }
      yield* ask(ADD_BYTES, [tenant, bytes])
      if (end !== undefined) yield* endRun(id, 1, end)
      return readRun(rows[0])
    }
    return this.#write(end, create)
  }

  async get(tenant: string, id: string): Promise<DurableRun | undefined> {
    const sql = 'SELECT * FROM toolyard.durable_runs WHERE tenant = ? AND id = ?'
    const { rows } = await this.#database.run<RunRow>(sql, [tenant, id])
    return rows[0] && readRun(rows[0])
  }

  tenantOf(id: string): Promise<string | undefined> {
    return tenantOf(this.#database, runTable, id)
  }

  async open({ tenant, model, caller, limit }: OpenRunFilter): Promise<readonly DurableRun[]> {
    const where = new Where().and('tenant = ?', tenant).and("status IN ('running', 'waiting')")
    where.and('model = ?', model).and('caller = ?', caller)
    const sql = ['SELECT * FROM toolyard.durable_runs WHERE', where.sql, 'ORDER BY created_at DESC, id DESC LIMIT ?']
    return (await this.#database.run<RunRow>(sql.join(' '), [...where.values, limit])).rows.map(readRun)
  }

  async shown(tenant: string, id: string, after: number): Promise<readonly Pick<DurableStep, 'kind' | 'shown'>[]> {
    return (await this.#database.run<DurableStep>(SHOWN, [id, tenant, after])).rows
  }

  async data(id: string): Promise<readonly string[]> {
    return (await this.#database.run<{ data: string }>(DATA, [id])).rows.map(({ data }) => data)
  }

  append(
    id: string,
    fence: number,
    steps: readonly DurableStep[],
    at: number,
    results: readonly OnceResult[] = [],
  ): Promise<boolean> {
    const database = this.#database
    return database.transaction(function* () {
      if (!(yield* appendSteps(id, fence, steps, at))) return false
      for (const result of results) yield* settleKey(database, result)
      return true
    })
  }

  begin(
    id: string,
    fence: number,
    step: DurableStep | undefined,
    at: number,
    claims: readonly OnceClaim[],
  ): Promise<readonly OnceState[] | undefined> {
    const database = this.#database
    return database.transaction(function* () {
      const isOwner = step === undefined ? yield* lockRun(id, fence) : yield* appendSteps(id, fence, [step], at)
      if (!isOwner) return undefined
      const states: OnceState[] = []
      for (const claim of claims) states.push(yield* claimKey(database, claim, at))
      return states
    })
  }

  end(id: string, fence: number, end: DurableEnd): Promise<boolean> {
    return this.#write(end, () => endRun(id, fence, end))
  }

  cancel(tenant: string, id: string, at: number): Promise<boolean> {
    return this.#database.change('pauses', function* () {
      const { count } = yield* ask(CANCEL, [at, tenant, id])
      yield* ask(EXPIRE_PAUSES, [at, tenant, id, at])
      return count > 0
    })
  }

  async release(id: string, fence: number, untried = false): Promise<void> {
    await this.#database.run(RELEASE, [untried ? 1 : 0, id, fence])
  }

  async owned(): Promise<readonly string[]> {
    const { names } = this.#database
    const owner = ["SELECT id FROM toolyard.durable_runs WHERE status = 'running' AND owner IN", placeholders(names)]
    return (await this.#database.run<{ id: string }>(owner.join(' '), names)).rows.map(({ id }) => id)
  }

  async due(now: number, limit: number): Promise<readonly Pick<DurableRun, 'id' | 'tenant'>[]> {
    const { sql: due, values } = this.#due(now)
    const sql = [DUE, due, ') AS due ORDER BY turn, created_at, id LIMIT ?'].join(' ')
    const { rows } = await this.#database.run<Pick<DurableRun, 'id' | 'tenant'>>(sql, [...values, limit])
    return rows.map(({ id, tenant }) => ({ id, tenant }))
  }

  async take(id: string, now: number): Promise<DurableRun | undefined> {
    const { sql: due, values } = this.#due(now)
    const sql = [TAKE, due, 'RETURNING *'].join(' ')
    const { rows } = await this.#database.run<RunRow>(sql, [this.#database.names[0], id, ...values])
    return rows[0] && readRun(rows[0])
  }

  async sweep({ now }: Expiry): Promise<void> {
    const before = now - DAY_MS
    await this.#database.transaction(function* () {
      const steps = yield* ask<Freed>(SWEEP_STEPS, [before, SWEEP_LIMIT])
      const runs = yield* ask<Freed>(SWEEP_RUNS, [before, SWEEP_LIMIT])
      yield* freeBytes([...steps.rows, ...runs.rows])
    })
  }

  /** No pause may be decided while a run begins to wait: nobody would wake it. */
  #write<T>(end: DurableEnd | undefined, work: () => Work<T>): Promise<T> {
    if (end?.status !== 'waiting') return this.#database.transaction(work)
    return this.#database.change('pauses', work)
  }

  #due(now: number) {
    const alive = this.#database.alive('durable_runs.owner')
    const dead = ["(status = 'running' AND (owner IS NULL OR NOT", alive.sql, '))'].join(' ')
    return { sql: ["((status = 'waiting' AND wake_at <= ?) OR", dead, ')'].join(' '), values: [now, ...alive.values] }
  }
}

export const durableRuns: StoreEntry<DurableRunStore> = {
  tables: [runTable, stepTable],
  open: (database) => new DurableRuns(database),
}

function* lockRun(id: string, fence: number): Work<boolean> {
  return (yield* ask(LOCK, [id, fence])).count > 0
}

function* appendSteps(id: string, fence: number, steps: readonly DurableStep[], at: number): Work<boolean> {
  const { rows } = yield* ask<{ steps: number; tenant: string }>(ADVANCE, [steps.length, id, fence])
  const [run] = rows
  if (run === undefined) return false
  const first = Number(run.steps) - steps.length
  let bytes = 0
  for (const [index, { kind, data, shown }] of steps.entries()) {
    yield* ask(STEP, [id, run.tenant, first + index + 1, kind, data, shown, at])
    bytes += Buffer.byteLength(data) + Buffer.byteLength(shown)
  }
  yield* ask(ADD_BYTES, [run.tenant, bytes])
  return true
}

function* endRun(id: string, fence: number, { status, answer, at, steps = [] }: DurableEnd): Work<boolean> {
  if (steps.length > 0 && !(yield* appendSteps(id, fence, steps, at))) return false
  const waits = status === 'waiting'
  const { rows } = waits ? yield* ask<{ wake_at: number | null }>(WAKE_AT, [id, at]) : { rows: [] }
  const { count } = yield* ask(END, [status, answer, waits ? null : at, rows[0]?.wake_at ?? at, id, fence])
  return count > 0
}

const readRun = ({ owner: _owner, wake_at, steps: _steps, ...run }: RunRow): DurableRun => ({
  ...run,
  woken_at: wake_at === null ? null : Number(wake_at),
  fence: Number(run.fence),
  resumes: Number(run.resumes),
})
