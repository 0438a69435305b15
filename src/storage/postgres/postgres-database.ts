import type { Client, ClientConfig, Pool, PoolClient, QueryConfig } from 'pg'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { refuseNul } from '../ledger/storable-text.ts'
import type { Answer } from '../sql/database.ts'

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
    const { Client, Pool, types } = await import('pg')
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
  ECONNREFUSED: 'nothing listens where TOOLYARD_DATABASE_URL points',
  ENOTFOUND: 'the host in TOOLYARD_DATABASE_URL is not known',
  EAI_AGAIN: 'the host in TOOLYARD_DATABASE_URL cannot be looked up',
}

/** Messages by SQLSTATE: its class (two characters), or more of it. */
const MEANINGS: Readonly<Record<string, string>> = {
  '08': `${UNREACHABLE}: the connection failed`,
  '23505': 'The store has one of that name already',
  '28': 'The database refuses the user or the password in TOOLYARD_DATABASE_URL',
  '3D': 'The database that TOOLYARD_DATABASE_URL names does not exist: create it',
  '42501': 'The database does not give the user in TOOLYARD_DATABASE_URL the rights that Toolyard needs',
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
