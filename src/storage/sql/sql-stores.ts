import type { Clock } from '../../core/clock.ts'
import type { Job, JobParts, JobStore, NewJob } from '../../core/storage/job-store.ts'
import type {
  FormerSecret,
  KeyRule,
  KeyStore,
  SessionStore,
  StoredKey,
  StoredSession,
  StoredUser,
} from '../../core/storage/key-store.ts'
import { checkQuota, type Quota, type StoredUsage } from '../../core/storage/quota.ts'
import type { Setting, SettingKind, SettingStore } from '../../core/storage/setting-store.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import { Chats } from './chats.ts'
import { Connections } from './connections.ts'
import { ADD_BYTES, ask, type Database, freeBytes, placeholders, SWEEP_LIMIT, USAGE, Where } from './database.ts'
import { DurableRuns } from './durable-runs.ts'
import type { Engine } from './engine.ts'
import { Items } from './items.ts'
import { Once } from './once.ts'
import { Pauses } from './pauses.ts'
import { PAYLOAD_DAYS, sweepPayloads } from './payloads.ts'
import { Runs, ToolUse, tenantOf, Validations } from './runs.ts'
import { Spending } from './spending.ts'
import { SqlLedgerTables } from './sql-ledger-tables.ts'

const DAY_MS = 86_400_000

type Stores = Pick<
  Engine,
  | 'tables'
  | 'runs'
  | 'keys'
  | 'sessions'
  | 'settings'
  | 'validations'
  | 'toolUse'
  | 'once'
  | 'jobs'
  | 'chats'
  | 'items'
  | 'pauses'
  | 'durableRuns'
  | 'spending'
  | 'connections'
>

/** The stores that are the same on both engines; `sweep` removes what has expired. */
export function sqlStores(
  database: Database,
  clock: Clock,
  keepDays: number,
): Stores & { readonly sweep: () => Promise<void> } {
  const once = new Once(database, clock)
  const jobs = new Jobs(database)
  const chats = new Chats(database, clock)
  const items = new Items(database)
  const pauses = new Pauses(database)
  const durableRuns = new DurableRuns(database)
  const spending = new Spending(database)
  const connections = new Connections(database)
  return {
    tables: new SqlLedgerTables(database),
    runs: new Runs(database),
    keys: new Keys(database),
    sessions: new Sessions(database),
    settings: new Settings(database),
    validations: new Validations(database),
    toolUse: new ToolUse(database),
    once,
    jobs,
    chats,
    items,
    pauses,
    durableRuns,
    spending,
    connections,
    async sweep() {
      await once.sweep()
      const before = clock.wall() - keepDays * DAY_MS
      await jobs.sweep(before)
      await chats.sweep(before)
      await items.sweep(before)
      await pauses.sweep(before, SWEEP_LIMIT)
      await durableRuns.sweep(clock.wall() - DAY_MS)
      await spending.sweep(clock.wall())
      await connections.sweep(clock.wall(), SWEEP_LIMIT)
      await sweepPayloads(database, clock.wall() - Math.min(keepDays, PAYLOAD_DAYS) * DAY_MS)
      await database.run(SWEEP_SESSIONS, [clock.wall(), SWEEP_LIMIT])
      await database.run(SWEEP_SECRETS, [new Date(clock.wall()).toISOString()])
      // Runs that were approved while a user was known go on for a day.
      await database.run(SWEEP_USERS, [clock.wall() - DAY_MS, SWEEP_LIMIT])
    },
  }
}

const LIST_KEYS = 'SELECT * FROM toolyard.keys ORDER BY created_at, id'
const CREATE_KEY = `
  INSERT INTO toolyard.keys (id, hash, tenant, name, role, calls_per_minute, created_at, expires_at, revoked_at,
    created_by, scopes, tools, models, budget)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const ANY_KEY = 'SELECT id FROM toolyard.keys LIMIT 1'
const COUNTED_KEYS = `
  SELECT id FROM toolyard.keys WHERE tenant = ? AND (revoked_at IS NULL OR revoked_at > ?) LIMIT ?`
/** Stored as JSON. */
const LISTS = ['scopes', 'tools', 'models', 'budget'] as const
const RESTORE_KEY = 'UPDATE toolyard.keys SET revoked_at = NULL WHERE id = ? AND revoked_at >= ?'
const ROTATE_KEY = 'UPDATE toolyard.keys SET hash = ? WHERE id = ? AND hash = ? AND revoked_at IS NULL'
const FORGET_SECRET = 'DELETE FROM toolyard.former_secrets WHERE id = ?'
const KEEP_SECRET = 'INSERT INTO toolyard.former_secrets (id, hash, until) VALUES (?, ?, ?)'
const LIST_SECRETS = 'SELECT id, hash, until FROM toolyard.former_secrets ORDER BY id'
const SWEEP_SECRETS = 'DELETE FROM toolyard.former_secrets WHERE until <= ?'
const REVOKE_KEY = 'UPDATE toolyard.keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?'
const CHANGE_KEY = `
  UPDATE toolyard.keys SET name = ?, role = ?, calls_per_minute = ?, expires_at = ?, scopes = ?, tools = ?, models = ?,
    budget = ?
  WHERE id = ? AND revoked_at IS NULL AND name = ? AND role = ? AND calls_per_minute IS NOT DISTINCT FROM ?
    AND expires_at IS NOT DISTINCT FROM ? AND scopes IS NOT DISTINCT FROM ? AND tools IS NOT DISTINCT FROM ?
    AND models IS NOT DISTINCT FROM ? AND budget IS NOT DISTINCT FROM ?`
const LIST_USERS = 'SELECT * FROM toolyard.users ORDER BY id'
const PUT_USER = `
  INSERT INTO toolyard.users AS known (id, tenant, subject, name, role, basis, issued_at, expires_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET subject = excluded.subject, name = excluded.name, role = excluded.role,
    basis = excluded.basis, issued_at = excluded.issued_at, expires_at = excluded.expires_at
    WHERE known.issued_at <= excluded.issued_at`
const REVOKE_USER = `
  INSERT INTO toolyard.users AS known (id, tenant, subject, name, role, basis, issued_at, expires_at, revoked_at)
  VALUES (?, ?, '', '', '', '', 0, 0, ?)
  ON CONFLICT (id) DO UPDATE SET revoked_at = excluded.revoked_at
    WHERE known.revoked_at IS NULL OR known.revoked_at < excluded.revoked_at`
const SWEEP_USERS = `
  DELETE FROM toolyard.users WHERE id IN (
    SELECT id FROM toolyard.users WHERE expires_at <= ? AND revoked_at IS NULL LIMIT ?)`
const END_SESSIONS = 'DELETE FROM toolyard.sessions WHERE caller = ?'

const listsOf = (key: StoredKey) => LISTS.map((list) => (key[list] ? JSON.stringify(key[list]) : null))

/** API keys of the installation. */
class Keys implements KeyStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(): Promise<readonly StoredKey[]> {
    const { rows } = await this.#database.run<StoredKey & Record<(typeof LISTS)[number], string | null>>(LIST_KEYS)
    return rows.map((row) => ({
      ...row,
      ...Object.fromEntries(LISTS.map((name) => [name, row[name] === null ? null : JSON.parse(row[name])])),
    }))
  }

  async create(key: StoredKey, rule?: KeyRule): Promise<boolean> {
    const { id, hash, tenant, name, role, calls_per_minute, created_at, expires_at, revoked_at, created_by } = key
    const times = [created_at, expires_at, revoked_at]
    const values = [id, hash, tenant, name, role, calls_per_minute, ...times, created_by, ...listsOf(key)]
    // Changes run one at a time, in all servers of the store.
    return this.#database.change('keys', function* () {
      if (rule === 'first' && (yield* ask(ANY_KEY)).count > 0) return false
      if (typeof rule === 'object') {
        const { count } = yield* ask(COUNTED_KEYS, [tenant, rule.since, rule.max])
        if (count >= rule.max) return false
      }
      yield* ask(CREATE_KEY, values)
      return true
    })
  }

  async change(before: StoredKey, after: StoredKey): Promise<boolean> {
    const values = (key: StoredKey) => [key.name, key.role, key.calls_per_minute, key.expires_at, ...listsOf(key)]
    const change = function* () {
      const { count } = yield* ask(CHANGE_KEY, [...values(after), before.id, ...values(before)])
      return count > 0
    }
    return this.#database.change('keys', change)
  }

  async revoke(id: string, at: string): Promise<boolean> {
    const revoke = function* () {
      yield* ask(END_SESSIONS, [id])
      const { count } = yield* ask(REVOKE_KEY, [at, id])
      return count > 0
    }
    return this.#database.change('keys', revoke, true)
  }

  async restore(id: string, since: string): Promise<boolean> {
    const restore = function* () {
      return (yield* ask(RESTORE_KEY, [id, since])).count > 0
    }
    return this.#database.change('keys', restore)
  }

  async rotate({ id, hash: former }: Pick<StoredKey, 'id' | 'hash'>, hash: string, until: string): Promise<boolean> {
    const rotate = function* () {
      const { count } = yield* ask(ROTATE_KEY, [hash, id, former])
      if (count === 0) return false
      yield* ask(END_SESSIONS, [id])
      yield* ask(FORGET_SECRET, [id])
      yield* ask(KEEP_SECRET, [id, former, until])
      return true
    }
    return this.#database.change('keys', rotate, true)
  }

  async formerSecrets(): Promise<readonly FormerSecret[]> {
    return (await this.#database.run<FormerSecret>(LIST_SECRETS)).rows
  }

  async users(): Promise<readonly StoredUser[]> {
    return (await this.#database.run<StoredUser>(LIST_USERS)).rows
  }

  async putUser(user: Omit<StoredUser, 'revoked_at'>): Promise<void> {
    const { id, tenant, subject, name, role, basis, issued_at, expires_at } = user
    const values = [id, tenant, subject, name, role, basis, issued_at, expires_at]
    await this.#database.change('keys', () => ask(PUT_USER, values))
  }

  async revokeUser({ id, tenant }: Pick<StoredUser, 'id' | 'tenant'>, at: number): Promise<void> {
    const revoke = function* () {
      yield* ask(END_SESSIONS, [id])
      yield* ask(REVOKE_USER, [id, tenant, at])
    }
    await this.#database.change('keys', revoke, true)
  }
}

const START_SESSION = 'INSERT INTO toolyard.sessions (hash, caller, expires_at, ends_at) VALUES (?, ?, ?, ?)'
const TRIM_SESSIONS = `
  DELETE FROM toolyard.sessions WHERE caller = ? AND hash NOT IN (
    SELECT hash FROM toolyard.sessions WHERE caller = ? ORDER BY expires_at DESC, hash LIMIT ?)`
const GET_SESSION = 'SELECT * FROM toolyard.sessions WHERE hash = ?'
const EXTEND_SESSION = 'UPDATE toolyard.sessions SET expires_at = ? WHERE hash = ?'
const END_SESSION = 'DELETE FROM toolyard.sessions WHERE hash = ?'
const SWEEP_SESSIONS = `
  DELETE FROM toolyard.sessions WHERE hash IN (SELECT hash FROM toolyard.sessions WHERE expires_at <= ? LIMIT ?)`

/** Browsers that are signed in. */
class Sessions implements SessionStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async start({ hash, caller, expires_at, ends_at }: StoredSession, max: number): Promise<void> {
    await this.#database.transaction(function* () {
      yield* ask(START_SESSION, [hash, caller, expires_at, ends_at])
      yield* ask(TRIM_SESSIONS, [caller, caller, max])
    })
  }

  async get(hash: string): Promise<StoredSession | undefined> {
    return (await this.#database.run<StoredSession>(GET_SESSION, [hash])).rows[0]
  }

  async extend(hash: string, expiresAt: number): Promise<void> {
    await this.#database.run(EXTEND_SESSION, [expiresAt, hash])
  }

  async end(hash: string): Promise<void> {
    await this.#database.run(END_SESSION, [hash])
  }
}

const LIST_SETTINGS = 'SELECT name, value FROM toolyard.settings WHERE kind = ? ORDER BY name'
const GET_SETTING = 'SELECT value FROM toolyard.settings WHERE kind = ? AND name = ?'
const PUT_SETTING = `
  INSERT INTO toolyard.settings (kind, name, value) VALUES (?, ?, ?)
  ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value`
const PUT_FIRST_SETTING = `
  INSERT INTO toolyard.settings (kind, name, value) VALUES (?, ?, ?) ON CONFLICT (kind, name) DO NOTHING`
const REPLACE_SETTING = 'UPDATE toolyard.settings SET value = ? WHERE kind = ? AND name = ? AND value = ?'
const REMOVE_SETTING = 'DELETE FROM toolyard.settings WHERE kind = ? AND name = ?'

/** Settings that can be changed while servers run. */
class Settings implements SettingStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async list(kind: SettingKind): Promise<readonly Setting[]> {
    const { rows } = await this.#database.run<{ name: string; value: string }>(LIST_SETTINGS, [kind])
    return rows.map(({ name, value }) => ({ kind, name, value: JSON.parse(value) }))
  }

  async put(setting: Setting): Promise<void> {
    await this.#database.change('settings', () => ask(PUT_SETTING, valuesOf(setting)))
  }

  putFirst(setting: Setting): Promise<unknown> {
    const { kind, name } = setting
    return this.#database.change('settings', function* () {
      yield* ask(PUT_FIRST_SETTING, valuesOf(setting))
      const { rows } = yield* ask<{ value: string }>(GET_SETTING, [kind, name])
      return JSON.parse((rows[0] as { value: string }).value)
    })
  }

  async replace(setting: Setting, before?: unknown): Promise<boolean> {
    const [kind, name, value] = valuesOf(setting)
    const work = () =>
      before === undefined
        ? ask<never>(PUT_FIRST_SETTING, [kind, name, value])
        : ask<never>(REPLACE_SETTING, [value, kind, name, JSON.stringify(before)])
    const isTold = kind !== 'alerts' && kind !== 'tool_names'
    const { count } = await (isTold ? this.#database.change('settings', work) : this.#database.transaction(work))
    return count > 0
  }

  async remove(kind: SettingKind, name: string): Promise<boolean> {
    const { count } = await this.#database.change('settings', () => ask(REMOVE_SETTING, [kind, name]))
    return count > 0
  }
}

const valuesOf = ({ kind, name, value }: Setting) => [kind, name, JSON.stringify(value ?? null)] as const

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
    return tenantOf(this.#database, 'jobs', id)
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

  /** Removes jobs that ended before this time. */
  async sweep(before: number): Promise<void> {
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
