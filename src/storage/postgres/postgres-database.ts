import type { Client, ClientConfig, Pool, PoolClient, QueryConfig } from 'pg'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { refuseNul } from '../nul.ts'

/** How long a statement, and getting a connection, may take. */
const ANSWER_MS = 5_000
/** The server gives a statement up itself; where it cannot be heard any more, we do, this much later. */
const GRACE_MS = 1_000
const INT8 = 20

export interface Answer<Row> {
  readonly rows: readonly Row[]
  /** How many rows were given or changed. */
  readonly count: number
}

/** What statements run on: any connection of the pool, or the one of a transaction. */
export interface Statements {
  run<Row>(text: string, values?: readonly unknown[]): Promise<Answer<Row>>
}

/** A bounded pool of connections. Whatever fails, fails in time and with a sentence that may be shown. */
export class PostgresDatabase implements Statements {
  readonly #pool: Pool
  readonly #connect: () => Client

  private constructor(pool: Pool, connect: () => Client) {
    this.#pool = pool
    this.#connect = connect
  }

  /** Dials nothing yet. */
  static async open(url: string, connections: number): Promise<PostgresDatabase> {
    const { Client, Pool, types } = await import('pg')
    const config: ClientConfig = {
      connectionString: url,
      application_name: 'toolyard',
      connectionTimeoutMillis: ANSWER_MS,
      statement_timeout: ANSWER_MS,
      query_timeout: ANSWER_MS + GRACE_MS,
      // A transaction waits for nobody but us: one that stands still belongs to a server that is gone.
      idle_in_transaction_session_timeout: 2 * ANSWER_MS,
      keepAlive: true,
      types: {
        // None of our numbers is beyond what a double holds exactly.
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
    // What breaks while it is used rejects its statement; what breaks while it is idle is replaced.
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
        // With a connection its transaction goes too.
        if (!(error instanceof ConnectionLost)) await ask(client, 'ROLLBACK', [])
        throw error
      }
    })
  }

  /** A connection of its own, outside the pool, not dialled yet. */
  client(): Client {
    return this.#connect()
  }

  /** Waits for what is under way, which takes no longer than a statement may. */
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

/** What an operating system's error means for who runs the server. */
const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens where TOOLYARD_DATABASE_URL points',
  ENOTFOUND: 'the host in TOOLYARD_DATABASE_URL is not known',
  EAI_AGAIN: 'the host in TOOLYARD_DATABASE_URL cannot be looked up',
}

/** What a class of SQLSTATE means: the first two characters, or all five where they say more. */
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
  /** Only the server's own errors have one. */
  readonly severity?: unknown
}

/** The connection that a statement was sent over is of no more use. */
export class ConnectionLost extends ToolExecutionError {}

/**
 * An error of the driver as a sentence that may be shown. It has no cause: the driver's own words hold addresses, and
 * the server's hold values.
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
