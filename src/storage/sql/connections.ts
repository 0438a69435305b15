import type {
  ConnectFlow,
  ConnectionKey,
  ConnectionStore,
  SealedText,
  StoredConnection,
  Tokens,
} from '../../core/storage/connection-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { ask, type Database, type Expiry, type StoreEntry, SWEEP_LIMIT } from './database.ts'
import type { Table } from './table.ts'

/** Accounts of users at providers. */
const connectionTable: Table = {
  name: 'connections',
  since: 19,
  columns: {
    tenant: 'id',
    user_id: 'id',
    provider: 'id',
    tokens: 'text',
    scopes: 'text',
    expires_at: 'real?',
    version: 'bigint',
    broken: 'flag',
    leased_until: 'real',
    created_at: 'real',
    updated_at: 'real',
  },
  key: 'tenant, user_id, provider',
  sealed: { tokens: { place: 'tenant, user_id, provider', kind: 'connection' } },
}

/** Authorizations that users have started. */
const flowTable: Table = {
  name: 'connect_flows',
  since: 19,
  columns: {
    id: 'id',
    state_hash: 'id?',
    tenant: 'id',
    user_id: 'id',
    provider: 'id',
    verifier: 'text',
    expires_at: 'real',
  },
  key: 'id',
  indexes: {
    connect_flows_by_state: { on: 'state_hash', unique: true, where: 'state_hash IS NOT NULL' },
    connect_flows_by_user: 'tenant, user_id',
    connect_flows_by_expiry: 'expires_at',
  },
  copied: false,
}

const ONE = 'tenant = ? AND user_id = ? AND provider = ?'
const SELECT = `
  SELECT tenant, user_id, provider, tokens, scopes, expires_at, version, broken, created_at, updated_at
  FROM toolyard.connections WHERE`
const COUNT = `
  SELECT count(*) AS count FROM toolyard.connections
  WHERE tenant = ? AND NOT (user_id = ? AND provider = ?)`
const PUT = `
  INSERT INTO toolyard.connections (tenant, user_id, provider, tokens, scopes, expires_at, version, broken, leased_until,
    created_at, updated_at)
  VALUES (?, ?, ?, ?, ?, ?, 1, 0, 0, ?, ?)
  ON CONFLICT (tenant, user_id, provider) DO UPDATE SET tokens = excluded.tokens, scopes = excluded.scopes,
    expires_at = excluded.expires_at, version = connections.version + 1, broken = 0, leased_until = 0,
    created_at = excluded.created_at, updated_at = excluded.updated_at`
const LEASE = ['UPDATE toolyard.connections SET leased_until = ? WHERE', ONE, 'AND version = ? AND leased_until <= ?']
const RENEW = `
  UPDATE toolyard.connections SET tokens = ?, scopes = ?, expires_at = ?, version = version + 1, leased_until = 0,
    updated_at = ?
  WHERE`
const BREAK =
  'UPDATE toolyard.connections SET broken = 1, version = version + 1, leased_until = 0, updated_at = ? WHERE'
const RELEASE = 'UPDATE toolyard.connections SET leased_until = 0 WHERE'
const FLOWS = `
  SELECT count(*) AS count FROM toolyard.connect_flows WHERE tenant = ? AND user_id = ? AND expires_at > ?`
const BEGIN = `
  INSERT INTO toolyard.connect_flows (id, state_hash, tenant, user_id, provider, verifier, expires_at)
  VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
const FLOW = `
  SELECT id, state_hash, tenant, user_id, provider, verifier, expires_at FROM toolyard.connect_flows
  WHERE state_hash = ? AND expires_at > ?`
/** The row stays until it expires, so that its link can't be used again. */
const FINISH = 'UPDATE toolyard.connect_flows SET state_hash = NULL WHERE id = ? AND state_hash = ?'
const SWEEP = `
  DELETE FROM toolyard.connect_flows WHERE id IN (SELECT id FROM toolyard.connect_flows WHERE expires_at < ? LIMIT ?)`

type ConnectionRow = Omit<StoredConnection, 'user' | 'broken'> & { readonly user_id: string; readonly broken: number }
type FlowRow = Omit<ConnectFlow, 'user'> & { readonly user_id: string }

/** The encrypted texts of a column. */
interface SealedColumn {
  readonly table: string
  readonly column: string
  /** Gives the text as the first column, then its primary key, then the parts of the place that it was sealed for. */
  readonly find: string
  readonly keys: number
  readonly replace: string
  readonly kind?: string | undefined
}

const sealedColumns = ({ name: table, key = '', sealed = {} }: Table): SealedColumn[] =>
  Object.entries(sealed).map(([column, { place, kind, json, where = 'true' }]) => {
    const text = json ? `substr(${column}, 2, length(${column}) - 2)` : column
    const keys = key.split(', ')
    const selected = [text, ...keys, ...place.split(', ')].map((part, index) => `${part} AS part${index}`).join(', ')
    const from = [`FROM toolyard.${table} WHERE`, where, 'AND', text, "LIKE 'sealed.%' AND", text, 'NOT LIKE ? LIMIT ?']
    const value = json ? `'"' || ? || '"'` : '?'
    const own = [...keys.map((name) => `${name} = ?`), `${column} = ${value}`].join(' AND ')
    return {
      ...{ table, column, kind, keys: keys.length },
      find: ['SELECT', selected, ...from].join(' '),
      replace: [`UPDATE toolyard.${table} SET`, column, '=', value, 'WHERE', own].join(' '),
    }
  })

/** Accounts of users at providers. */
class Connections implements ConnectionStore {
  readonly #database: Database
  readonly #sealed: readonly SealedColumn[]

  constructor(database: Database, tables: readonly Table[]) {
    this.#database = database
    this.#sealed = tables.flatMap(sealedColumns)
  }

  async list(tenant: string, user: string | undefined, limit: number): Promise<readonly StoredConnection[]> {
    const [where, values] =
      user === undefined ? ['tenant = ?', [tenant]] : ['tenant = ? AND user_id = ?', [tenant, user]]
    const sql = [SELECT, where, 'ORDER BY user_id, provider LIMIT ?'].join(' ')
    return (await this.#database.run<ConnectionRow>(sql, [...values, limit])).rows.map(readConnection)
  }

  async get(key: ConnectionKey): Promise<StoredConnection | undefined> {
    const { rows } = await this.#database.run<ConnectionRow>([SELECT, ONE].join(' '), valuesOf(key))
    return rows[0] && readConnection(rows[0])
  }

  put(key: ConnectionKey, { tokens, scopes, expires_at }: Tokens, now: number, max: number): Promise<void> {
    return this.#database.transaction(function* () {
      const { rows } = yield* ask<{ count: number }>(COUNT, valuesOf(key))
      if (Number(rows[0]?.count) >= max) {
        const message = `Tenant '${key.tenant}' has ${max} connections, the maximum: revoke some`
        throw new ToolExecutionError('RATE_LIMITED', message)
      }
      yield* ask(PUT, [...valuesOf(key), tokens, scopes, expires_at, now, now])
    })
  }

  async lease(key: ConnectionKey, version: number, now: number, until: number): Promise<boolean> {
    return (await this.#database.run(LEASE.join(' '), [until, ...valuesOf(key), version, now])).count > 0
  }

  async renew(key: ConnectionKey, version: number, tokens: Tokens | 'broken', now: number): Promise<boolean> {
    const [sql, values] =
      tokens === 'broken' ? [BREAK, [now]] : [RENEW, [tokens.tokens, tokens.scopes, tokens.expires_at, now]]
    return (await this.#database.run(ofVersion(sql), [...values, ...valuesOf(key), version])).count > 0
  }

  async release(key: ConnectionKey, version: number): Promise<void> {
    await this.#database.run(ofVersion(RELEASE), [...valuesOf(key), version])
  }

  remove(key: ConnectionKey): Promise<StoredConnection | undefined> {
    return this.#database.transaction(function* () {
      const { rows } = yield* ask<ConnectionRow>([SELECT, ONE].join(' '), valuesOf(key))
      yield* ask(['DELETE FROM toolyard.connections WHERE', ONE].join(' '), valuesOf(key))
      return rows[0] && readConnection(rows[0])
    })
  }

  begin(flow: ConnectFlow, now: number, max: number): Promise<boolean> {
    const { id, state_hash, tenant, user, provider, verifier, expires_at } = flow
    return this.#database.transaction(function* () {
      const { rows } = yield* ask<{ count: number }>(FLOWS, [tenant, user, now])
      if (Number(rows[0]?.count) >= max) {
        const message = `You have started to connect accounts ${max} times: try again in some minutes`
        throw new ToolExecutionError('RATE_LIMITED', message)
      }
      const { count } = yield* ask(BEGIN, [id, state_hash, tenant, user, provider, verifier, expires_at])
      return count > 0
    })
  }

  finish(stateHash: string, now: number): Promise<ConnectFlow | undefined> {
    return this.#database.transaction(function* () {
      const { rows } = yield* ask<FlowRow>(FLOW, [stateHash, now])
      const [row] = rows
      if (row === undefined) return undefined
      const { count } = yield* ask(FINISH, [row.id, stateHash])
      if (count === 0) return undefined
      const { user_id: user, ...flow } = row
      return { ...flow, user }
    })
  }

  async sealed(keyId: string, limit: number): Promise<readonly SealedText[]> {
    const found: SealedText[] = []
    for (const { table, column, find, keys, kind } of this.#sealed) {
      if (found.length >= limit) break
      const { rows } = await this.#database.run<object>(find, [`sealed.${keyId}.%`, limit - found.length])
      for (const row of rows) {
        const [text, ...parts] = Object.values(row)
        const places = parts.slice(keys)
        const place = kind === undefined ? places[0] : JSON.stringify([kind, ...places])
        found.push({ table, column, key: parts.slice(0, keys), place, text })
      }
    }
    return found
  }

  async reseal({ table, column, key, text: before }: SealedText, text: string): Promise<boolean> {
    const known = this.#sealed.find((one) => one.table === table && one.column === column)
    if (known === undefined) throw new TypeError(`There is no encrypted column ${table}.${column}`)
    return (await this.#database.run(known.replace, [text, ...key, before])).count > 0
  }

  async sweep({ now }: Expiry): Promise<void> {
    await this.#database.run(SWEEP, [now, SWEEP_LIMIT])
  }
}

export const connections: StoreEntry<ConnectionStore> = {
  tables: [connectionTable, flowTable],
  open: (database, _clock, tables) => new Connections(database, tables),
}

const valuesOf = ({ tenant, user, provider }: ConnectionKey): readonly string[] => [tenant, user, provider]

const ofVersion = (sql: string): string => [sql, ONE, 'AND version = ?'].join(' ')

const readConnection = ({ user_id: user, broken, ...row }: ConnectionRow): StoredConnection => ({
  ...row,
  user,
  version: Number(row.version),
  broken: Number(broken) > 0,
})
