import type { Client, ClientConfig, Pool, PoolClient, QueryConfig } from 'pg'
import { type Log, writeLog } from '../../core/log.ts'
import { loadOptional } from '../../core/optional-package.ts'
import type { Company } from '../../core/storage/lease-store.ts'
import { CHANGES, type Change } from '../../core/storage/storage.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { refuseNul } from '../ledger/storable-text.ts'
import type { Answer } from '../sql/database.ts'
import { ALIVE_MS, ChangeListeners, type StorageOptions } from '../sql/engine.ts'

/** The time limit of a statement, and of connecting. */
const ANSWER_MS = 5_000
/** The client cancels a statement this much later than the server would. */
const GRACE_MS = 1_000
const INT8 = 20

/** Any connection of the pool, or that of a transaction. */
export interface Statements {
  run<Row>(text: string, values?: readonly unknown[]): Promise<Answer<Row>>
}

/** A pool of connections. All errors have a time limit and a message that may be shown. */
export class PostgresDatabase implements Statements {
  readonly #pool: Pool
  readonly #connect: () => Client

  private constructor(pool: Pool, connect: () => Client) {
    this.#pool = pool
    this.#connect = connect
  }

  /** Does not connect yet. */
  static async open(url: string, connections: number, answerMs = ANSWER_MS): Promise<PostgresDatabase> {
    const { Client, Pool, types } = await loadOptional('PostgreSQL', ['pg', 'pg-boss'], () => import('pg'))
    const config: ClientConfig = {
      connectionString: url,
      application_name: 'toolyard',
      connectionTimeoutMillis: answerMs,
      statement_timeout: answerMs,
      query_timeout: answerMs + GRACE_MS,
      // An idle transaction belongs to a server that is gone.
      idle_in_transaction_session_timeout: 2 * answerMs,
      keepAlive: true,
      types: {
        // All our integers are safe in a double.
        getTypeParser: (oid, format) => (oid === INT8 ? Number : types.getTypeParser(oid, format)) as () => unknown,
      },
    }
    const client = (): Client => new Client(config)
    try {
      if (!/^postgres(ql)?:/.test(url)) throw new TypeError('another protocol')
      client()
    } catch {
      const message = 'TOOLYARD_DATABASE_URL is not an address such as postgres://user:password@host:5432/database'
      throw new ToolExecutionError('SERVICE_UNAVAILABLE', message)
    }
    const pool = new Pool({ ...config, max: connections })
    // An error in use rejects the statement; an idle connection is replaced.
    const ignore = (): void => {}
    pool.on('error', ignore)
    pool.on('connect', (connected) => connected.on('error', ignore))
    return new PostgresDatabase(pool, client)
  }

  async run<Row>(text: string, values: readonly unknown[] = []): Promise<Answer<Row>> {
    refuseNul(values.flat())
    return this.#use((client) => ask<Row>(client, text, values))
  }

  /** All or nothing. Each statement may take `limitMs`. */
  transaction<T>(work: (statements: Statements) => Promise<T>, limitMs = ANSWER_MS): Promise<T> {
    return this.#use(async (client) => {
      const run: Statements['run'] = async (text, values = []) => {
        refuseNul(values.flat())
        return ask(client, text, values, limitMs)
      }
      await ask(client, 'BEGIN', [])
      try {
        if (limitMs !== ANSWER_MS) await run("SELECT set_config('statement_timeout', $1, true)", [String(limitMs)])
        const value = await work({ run })
        await ask(client, 'COMMIT', [])
        return value
      } catch (error) {
        // A lost connection has no transaction to roll back.
        if (!(error instanceof ConnectionLost)) await ask(client, 'ROLLBACK', [])
        throw error
      }
    })
  }

  /** A connection outside the pool, not connected yet. */
  client(): Client {
    return this.#connect()
  }

  /** Waits for running statements. */
  async close(): Promise<void> {
    await this.#pool.end()
  }

  async #use<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    let client: PoolClient
    try {
      client = await this.#pool.connect()
    } catch (error) {
      throw postgresError(error)
    }
    try {
      const value = await work(client)
      client.release()
      return value
    } catch (error) {
      client.release(error instanceof ConnectionLost)
      throw error
    }
  }
}

async function ask<Row>(
  client: PoolClient,
  text: string,
  values: readonly unknown[],
  limitMs?: number,
): Promise<Answer<Row>> {
  const query: QueryConfig & { query_timeout?: number } = { text, values: [...values] }
  if (limitMs !== undefined) query.query_timeout = limitMs + GRACE_MS
  try {
    const { rows, rowCount } = await client.query(query)
    return { rows, count: rowCount ?? 0 }
  } catch (error) {
    throw postgresError(error)
  }
}

const UNREACHABLE = 'The database cannot be reached'

/** Errors of the operating system, explained for the operator. */
const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at the address in TOOLYARD_DATABASE_URL',
  ENOTFOUND: 'the host in TOOLYARD_DATABASE_URL is unknown',
  EAI_AGAIN: 'the host in TOOLYARD_DATABASE_URL cannot be resolved',
}

/** Messages by SQLSTATE: its class (two characters), or more of it. */
const MEANINGS: Readonly<Record<string, string>> = {
  '08': `${UNREACHABLE}: the connection failed`,
  '23505': 'The store already has an entry with that name',
  '28': 'The database rejects the user or the password in TOOLYARD_DATABASE_URL',
  '3D': 'The database that TOOLYARD_DATABASE_URL names does not exist: create it',
  '42501': 'The user in TOOLYARD_DATABASE_URL lacks privileges that Toolyard needs',
  '53': 'The database has run out of connections, memory or disk space',
  '57014': 'The database took too long',
  '57P': `${UNREACHABLE}: it is starting or shutting down`,
}

interface DriverError {
  readonly code?: unknown
  /** Only errors of the server have one. */
  readonly severity?: unknown
}

/** The connection of a statement is broken. */
export class ConnectionLost extends ToolExecutionError {}

/**
 * Converts an error of the driver to a message that may be shown. It has no cause: messages of the driver contain
 * addresses, and those of the server contain values.
 */
export function postgresError(error: unknown): ToolExecutionError {
  const { code, severity } = Object(error) as DriverError
  const state = typeof code === 'string' ? code : ''
  if (severity === undefined) {
    const reason = NETWORK[state] ?? (state === '' ? 'the connection was lost, or no answer came in time' : state)
    return new ConnectionLost('SERVICE_UNAVAILABLE', `${UNREACHABLE}: ${reason}`)
  }
  const meaning = MEANINGS[state] ?? MEANINGS[state.slice(0, 3)] ?? MEANINGS[state.slice(0, 2)]
  if (state === '23505') return new ToolExecutionError('INVALID_PARAMETERS', meaning as string)
  const Kind = /^(08|57P)/.test(state) ? ConnectionLost : ToolExecutionError
  return new Kind('SERVICE_UNAVAILABLE', `${meaning ?? 'The database refused a statement'} (SQLSTATE ${state})`)
}

/** The identity of this process among the servers. */
export interface Presence {
  readonly instance: string
  /** Its names, the current one first. */
  readonly names: readonly string[]
  /** A server without a heartbeat for this long counts as dead. */
  readonly aliveMs: number
  /** The interval of heartbeats. */
  readonly beatMs: number
}

export const presenceOf = ({ instance, formerly = [], aliveMs = ALIVE_MS }: StorageOptions): Presence => ({
  instance,
  names: [instance, ...formerly],
  aliveMs,
  beatMs: aliveMs / 5,
})

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 2_000

const BEAT = `
  INSERT INTO toolyard.instances AS i (instance, seen_at) SELECT unnest($1::text[]), now()
  ON CONFLICT (instance) DO UPDATE SET
    seen_at = now(),
    back_at = CASE WHEN i.seen_at <= now() - $2 * interval '1 millisecond' THEN now() ELSE i.back_at END
  RETURNING (
    SELECT count(*) FROM toolyard.instances o
    WHERE o.instance <> ALL ($1) AND toolyard.is_alive(o.instance, $3, $2)
  ) AS others`

const END = 'UPDATE toolyard.instances SET seen_at = now(), ended_at = now() WHERE instance = ANY ($1)'

/**
 * The connection for heartbeats and for notifications of changes. After a reconnect everything counts as changed, since
 * notifications may have been missed.
 */
export class Heartbeat {
  readonly #dial: () => Client
  readonly #presence: Presence
  readonly #log: Log
  readonly #listeners: ChangeListeners
  #client: Client | undefined
  #problem: string | undefined
  #servers = 1
  /** The time of the last heartbeat, and of the last one with another server alive. */
  #beatAt = 0
  #companyAt = 0
  #gap: { readonly from: number; readonly to: number } | undefined
  #pauseMs = FIRST_PAUSE_MS
  #timer: NodeJS.Timeout | undefined
  #busy: Promise<void> = Promise.resolve()
  #closed = false

  constructor(dial: () => Client, presence: Presence, log: Log) {
    this.#dial = dial
    this.#presence = presence
    this.#log = log
    this.#listeners = new ChangeListeners(log)
  }

  /** Why there is no connection. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** The servers at the last heartbeat. */
  get company(): Company {
    const gap = this.#gap
    return {
      servers: this.#servers,
      aloneMs: this.#beatAt - this.#companyAt,
      ...(gap && { gap: { lastedMs: gap.to - gap.from, agoMs: performance.now() - gap.to } }),
    }
  }

  onChange(listener: (change: Change) => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Rejects if the database cannot be reached: only a lost connection is retried. */
  async open(): Promise<void> {
    await this.#connect()
  }

  /** Tells the others that this server is gone. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#busy
    const client = this.#client
    this.#client = undefined
    if (client === undefined) return
    // If this fails, the others notice the missing heartbeats.
    await client.query(END, [this.#presence.names]).catch(() => {})
    await client.end().catch(() => {})
  }

  async #connect(): Promise<void> {
    const client = this.#dial()
    client.on('error', (error) => this.#lost(client, error))
    client.on('end', () => this.#lost(client, undefined))
    client.on('notification', ({ payload }) => {
      const change = CHANGES.find((known) => known === payload)
      if (change !== undefined) this.#listeners.tell(change)
    })
    try {
      await client.connect()
      await client.query('LISTEN toolyard')
      await this.#say(client)
    } catch (error) {
      client.end().catch(() => {})
      throw postgresError(error)
    }
    this.#client = client
    this.#problem = undefined
    this.#pauseMs = FIRST_PAUSE_MS
    this.#next(this.#presence.beatMs)
  }

  async #say(client: Client): Promise<void> {
    const { names, instance, aliveMs } = this.#presence
    const now = performance.now()
    const { rows } = await client.query<{ others: number }>(BEAT, [names, aliveMs, instance])
    const others = rows[0]?.others ?? 0
    this.#servers = 1 + others
    if (others > 0 || this.#beatAt === 0) this.#companyAt = now
    this.#beatAt = now
  }

  #next(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      this.#busy = this.#client === undefined ? this.#reconnect() : this.#beat(this.#client)
    }, ms)
  }

  async #beat(client: Client): Promise<void> {
    try {
      await this.#say(client)
      this.#next(this.#presence.beatMs)
    } catch (error) {
      this.#lost(client, error)
    }
  }

  #lost(client: Client, error: unknown): void {
    if (client !== this.#client) return
    this.#client = undefined
    this.#problem = postgresError(error).message
    client.end().catch(() => {})
    writeLog(this.#log, 'error', {}, `${this.#problem}. Reconnecting until it answers.`)
    this.#next(FIRST_PAUSE_MS)
  }

  async #reconnect(): Promise<void> {
    const lastBeatAt = this.#beatAt
    try {
      await this.#connect()
    } catch {
      this.#pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs * 2)
      this.#next(this.#pauseMs)
      return
    }
    writeLog(this.#log, 'info', {}, 'The database answers again')
    this.#gap = { from: lastBeatAt, to: performance.now() }
    for (const change of CHANGES) this.#listeners.tell(change)
  }
}
