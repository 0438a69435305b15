import type {
  FormerSecret,
  KeyRule,
  KeyStore,
  SessionStore,
  StoredKey,
  StoredSession,
  StoredUser,
} from '../../core/storage/key-store.ts'
import { ask, DAY_MS, type Database, type Expiry, type StoreEntry, SWEEP_LIMIT } from './database.ts'
import type { Table } from './table.ts'

const keyTable: Table = {
  name: 'keys',
  columns: { created_by: { type: 'text?', since: 10 }, budget: { type: 'text?', since: 15 } },
  // A key with every scope has the new one, too.
  steps: {
    10: {
      after: `
      UPDATE toolyard.keys SET scopes = '["read","call","chat","observe","validate","approve","manage","installation"]'
      WHERE scopes = '["read","call","chat","observe","validate","manage","installation"]'`,
    },
  },
}

/** The former secret of a key that was rotated. */
const secretTable: Table = {
  name: 'former_secrets',
  since: 24,
  columns: { id: 'id', hash: { type: 'id', unique: true }, until: 'text' },
  key: 'id',
  rowid: true,
}

/** Users of the configured issuer. */
const userTable: Table = {
  name: 'users',
  since: 16,
  columns: {
    id: 'id',
    tenant: 'id',
    subject: 'id',
    name: 'text',
    role: 'id',
    issued_at: 'real',
    expires_at: 'real',
    // What the role comes from.
    basis: { type: 'text', default: '', since: 18 },
    // When an administrator signed the user out.
    revoked_at: { type: 'real?', since: 18 },
  },
  key: 'id',
  indexes: { users_by_expiry: 'expires_at' },
}

export const sessionTable: Table = {
  name: 'sessions',
  columns: { hash: 'id', caller: 'id', expires_at: 'real', ends_at: 'real' },
  key: 'hash',
  indexes: { sessions_by_caller: 'caller, expires_at', sessions_by_expiry: 'expires_at' },
  copied: false,
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

  async sweep({ now }: Expiry): Promise<void> {
    await this.#database.run(SWEEP_SECRETS, [new Date(now).toISOString()])
    // Runs that were approved while a user was known go on for a day.
    await this.#database.run(SWEEP_USERS, [now - DAY_MS, SWEEP_LIMIT])
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

  async sweep({ now }: Expiry): Promise<void> {
    await this.#database.run(SWEEP_SESSIONS, [now, SWEEP_LIMIT])
  }
}

export const keys: StoreEntry<KeyStore> = {
  tables: [keyTable, secretTable, userTable],
  open: (database) => new Keys(database),
}
export const sessions: StoreEntry<SessionStore> = { tables: [sessionTable], open: (database) => new Sessions(database) }
