import { ToolExecutionError } from '../../core/tool-execution-error.ts'

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
