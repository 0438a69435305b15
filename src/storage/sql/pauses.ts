import type {
  Pause,
  PauseDecision,
  PausedCall,
  PauseFilter,
  PausePage,
  PauseRequest,
  PauseStatus,
  PauseStore,
  StoredProgress,
} from '../../core/storage/pause-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { ask, type Database, type Expiry, type StoreEntry, SWEEP_LIMIT, Where } from './database.ts'
import { wakeRun } from './durable-runs.ts'
import { readCursor, tenantOf } from './runs.ts'
import type { Table } from './table.ts'

/** Calls that wait for a person. */
const pauseTable: Table = {
  name: 'pauses',
  since: 10,
  columns: {
    id: 'id',
    kind: 'text',
    tenant: 'id',
    caller: 'id',
    tool: 'text',
    version: 'text',
    params_hash: 'id',
    params: 'text',
    run_id: 'id?',
    call_id: 'id?',
    requested_at: 'real',
    expires_at: 'real',
    decision: 'text?',
    decided_params: 'text?',
    decided_by: 'text?',
    decided_by_name: 'text?',
    decided_at: 'real?',
    reason: 'text?',
    begun_at: 'real?',
    root_key: { type: 'id?', since: 12 },
    root_hash: { type: 'id?', since: 12 },
    // What a tool that calls others has done before it waited.
    progress: { type: 'text?', since: 12 },
    // The user who asked.
    subject: { type: 'text?', since: 26 },
    // The definitions that a person approves. Approvals from before have none.
    definitions: { type: 'text?', since: 27 },
  },
  key: 'id',
  indexes: {
    pauses_by_tenant: 'tenant, requested_at, id',
    pauses_by_call: 'tenant, caller, params_hash',
    pauses_by_expiry: 'expires_at',
    pauses_pending: { on: 'tenant, caller, expires_at', where: 'decision IS NULL' },
    pauses_by_run: { on: 'run_id', where: 'run_id IS NOT NULL' },
    pauses_by_root: { on: 'tenant, root_key', where: 'root_key IS NOT NULL', since: 12 },
    pauses_by_root_call: { on: 'tenant, caller, root_hash', where: 'root_hash IS NOT NULL', since: 12 },
  },
  large: true,
  sealed: { progress: { place: 'root_key' } },
}

const COLUMNS = [
  'id',
  'kind',
  'tenant',
  'caller',
  'tool',
  'version',
  'params_hash',
  'params',
  'run_id',
  'call_id',
  'root_key',
  'root_hash',
  'subject',
  'definitions',
  'requested_at',
  'expires_at',
] as const satisfies (keyof PauseRequest)[]

/** All but the progress, which may be large. */
const PAUSE = `id, kind, tenant, caller, tool, version, params_hash, params, run_id, call_id, root_key, root_hash,
  subject, definitions, requested_at, expires_at, decision, decided_params, decided_by, decided_by_name, decided_at,
  reason, begun_at`
const INSERT = [
  `INSERT INTO toolyard.pauses (id, kind, tenant, caller, tool, version, params_hash, params, run_id, call_id, root_key,
    root_hash, subject, definitions, requested_at, expires_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING`,
  PAUSE,
].join(' ')
const SELECT = ['SELECT', PAUSE, 'FROM toolyard.pauses'].join(' ')
const OPEN = [
  SELECT,
  `WHERE tenant = ? AND caller = ? AND params_hash = ? AND tool = ? AND version = ? AND kind = ? AND run_id IS NULL
    AND root_hash IS NOT DISTINCT FROM ? AND definitions = ?
    AND expires_at > ? AND (decision IS NULL OR decision = 'approve' AND begun_at IS NULL)
  ORDER BY requested_at DESC, id DESC LIMIT 1`,
].join(' ')
const OF_CALL = [SELECT, 'WHERE tenant = ? AND run_id = ? AND call_id = ?'].join(' ')
const SAVE_PROGRESS = `
  UPDATE toolyard.pauses SET progress = ? WHERE id = (
    SELECT id FROM toolyard.pauses WHERE tenant = ? AND caller = ? AND root_key = ?
    ORDER BY requested_at DESC, id DESC LIMIT 1)`
const PROGRESS = `
  SELECT root_key, root_hash, progress FROM toolyard.pauses
  WHERE tenant = ? AND caller = ? AND root_key = ? AND progress IS NOT NULL
  ORDER BY requested_at DESC, id DESC LIMIT 1`
const OPEN_ROOT = `
  SELECT root_key FROM toolyard.pauses
  WHERE tenant = ? AND caller = ? AND root_hash = ? AND expires_at > ?
    AND (decision IS NULL OR decision = 'approve' AND begun_at IS NULL)
  ORDER BY requested_at DESC, id DESC LIMIT 1`
const PENDING_OF_CALLER = `
  SELECT count(*) AS count FROM toolyard.pauses WHERE tenant = ? AND caller = ? AND decision IS NULL AND expires_at > ?`
const PENDING = 'SELECT count(*) AS count FROM toolyard.pauses WHERE decision IS NULL AND expires_at > ?'
const PENDING_OF = `${PENDING} AND tenant = ?`
const DECIDE = `
  UPDATE toolyard.pauses SET decision = ?, decided_params = ?, decided_by = ?, decided_by_name = ?, decided_at = ?,
    reason = ?, expires_at = ?
  WHERE tenant = ? AND id = ? AND decision IS NULL AND expires_at > ?`
const BEGIN = `
  UPDATE toolyard.pauses SET begun_at = ? WHERE tenant = ? AND id = ? AND decision = 'approve' AND begun_at IS NULL`
const SWEEP = `
  DELETE FROM toolyard.pauses WHERE id IN (SELECT id FROM toolyard.pauses WHERE expires_at < ? LIMIT ?)`

const STATUS: Readonly<Record<PauseStatus, string>> = {
  pending: 'decision IS NULL AND expires_at > ?',
  expired: 'decision IS NULL AND expires_at <= ?',
  approved: "decision = 'approve'",
  rejected: "decision = 'reject'",
}

/** A pause as a row: parameters are JSON texts. */
type PauseRow = Omit<Pause, 'params' | 'decided_params'> & {
  readonly params: string
  readonly decided_params: string | null
}

/** Calls that wait for a person. */
class Pauses implements PauseStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  ask(request: PauseRequest, maxPending: number): Promise<{ readonly pause: Pause; readonly isNew: boolean }> {
    const row = { ...request, params: JSON.stringify(request.params) }
    const { tenant, caller, requested_at: now } = request
    // One change at a time, so that neither the limit nor the search for an identical call needs a lock.
    return this.#database.change('pauses', function* () {
      // Each call of a run has its own pause, and asks for it again if the server died.
      const { rows: known } =
        request.run_id === null
          ? yield* ask<PauseRow>(OPEN, openValues(request, now))
          : yield* ask<PauseRow>(OF_CALL, [tenant, request.run_id, request.call_id])
      const [open] = known
      if (open !== undefined) return { pause: readPause(open), isNew: false }
      const { rows: counts } = yield* ask<{ count: number }>(PENDING_OF_CALLER, [tenant, caller, now])
      if (Number(counts[0]?.count) >= maxPending) throw tooMany(maxPending)
      const { rows } = yield* ask<PauseRow>(
        INSERT,
        COLUMNS.map((name) => row[name]),
      )
      return { pause: readPause(rows[0] as PauseRow), isNew: true }
    })
  }

  async open(call: PausedCall, now: number): Promise<Pause | undefined> {
    const { rows } = await this.#database.run<PauseRow>(OPEN, openValues(call, now))
    return rows[0] && readPause(rows[0])
  }

  async get(tenant: string, id: string): Promise<Pause | undefined> {
    const sql = [SELECT, 'WHERE tenant = ? AND id = ?'].join(' ')
    const { rows } = await this.#database.run<PauseRow>(sql, [tenant, id])
    return rows[0] && readPause(rows[0])
  }

  tenantOf(id: string): Promise<string | undefined> {
    return tenantOf(this.#database, pauseTable, id)
  }

  async list({ tenant, status, now, limit, cursor }: PauseFilter): Promise<PausePage> {
    const where = new Where().and('tenant = ?', tenant)
    if (status !== undefined) where.and(STATUS[status], ...(STATUS[status].includes('?') ? [now] : []))
    if (cursor !== undefined) where.and('(requested_at, id) < (?, ?)', ...readCursor(cursor, 'number'))
    const sql = [
      'SELECT',
      PAUSE,
      'FROM toolyard.pauses WHERE',
      where.sql,
      'ORDER BY requested_at DESC, id DESC LIMIT ?',
    ]
    const { rows } = await this.#database.run<PauseRow>(sql.join(' '), [...where.values, limit + 1])
    const pauses = rows.slice(0, limit).map(readPause)
    const last = pauses.at(-1)
    if (rows.length <= limit || last === undefined) return { pauses }
    return { pauses, next: Buffer.from(JSON.stringify([last.requested_at, last.id])).toString('base64url') }
  }

  async countPending(tenant: string | undefined, now: number): Promise<number> {
    const [sql, values] = tenant === undefined ? [PENDING, [now]] : [PENDING_OF, [now, tenant]]
    const { rows } = await this.#database.run<{ count: number }>(sql, values)
    return Number(rows[0]?.count)
  }

  decide(tenant: string, id: string, given: PauseDecision): Promise<boolean> {
    const { decision, decided_params, decided_by, decided_by_name, decided_at, reason, expires_at } = given
    const params = decided_params === null ? null : JSON.stringify(decided_params)
    const values = [decision, params, decided_by, decided_by_name, decided_at, reason, expires_at]
    return this.#database.change('pauses', function* () {
      const { count } = yield* ask(DECIDE, [...values, tenant, id, decided_at])
      if (count > 0) yield* wakeRun(id, decided_at)
      return count > 0
    })
  }

  async saveProgress(tenant: string, caller: string, root_key: string, progress: string): Promise<void> {
    await this.#database.run(SAVE_PROGRESS, [progress, tenant, caller, root_key])
  }

  async progress(tenant: string, caller: string, root_key: string): Promise<StoredProgress | undefined> {
    return (await this.#database.run<StoredProgress>(PROGRESS, [tenant, caller, root_key])).rows[0]
  }

  async openProgress(tenant: string, caller: string, root_hash: string, now: number) {
    const { rows } = await this.#database.run<{ root_key: string }>(OPEN_ROOT, [tenant, caller, root_hash, now])
    return rows[0] && this.progress(tenant, caller, rows[0].root_key)
  }

  async begin(tenant: string, id: string, now: number): Promise<boolean> {
    return (await this.#database.run(BEGIN, [now, tenant, id])).count > 0
  }

  async sweep({ before }: Expiry): Promise<void> {
    await this.#database.run(SWEEP, [before, SWEEP_LIMIT])
  }
}

export const pauses: StoreEntry<PauseStore> = { tables: [pauseTable], open: (database) => new Pauses(database) }

const openValues = (call: PausedCall, now: number): readonly unknown[] => {
  const { tenant, caller, params_hash, tool, version, kind, root_hash, definitions } = call
  return [tenant, caller, params_hash, tool, version, kind, root_hash, definitions, now]
}

const readPause = (row: PauseRow): Pause => ({
  ...row,
  params: JSON.parse(row.params),
  decided_params: row.decided_params === null ? null : JSON.parse(row.decided_params),
})

const tooMany = (maxPending: number): ToolExecutionError =>
  new ToolExecutionError(
    'RATE_LIMITED',
    `This caller has ${maxPending} pending approvals, the maximum: try again when some have been decided`,
  )
