import { TOOL_ERRORS } from './tool-error-code.ts'
import { ToolExecutionError } from './tool-execution-error.ts'

/** Codes of Node and its HTTP client that mean: the connection was never there, so nothing was sent. */
const NEVER_LEFT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Codes that mean: the connection was lost, and what was sent may have arrived. */
const MAY_HAVE_LEFT = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
])

const LONGEST_MESSAGE = 2_000

const NO_REASON = 'The tool failed without saying why'

/** Whatever a handler threw, as the one error of the system. Told apart by codes, never by text. Never throws. */
export function asToolError(thrown: unknown, tool: string): ToolExecutionError {
  try {
    return understood(thrown, tool)
  } catch {
    // A proxy can refuse even to say what it is.
    return new ToolExecutionError('EXECUTION_ERROR', NO_REASON)
  }
}

function understood(thrown: unknown, tool: string): ToolExecutionError {
  if (thrown instanceof ToolExecutionError && isSound(thrown)) return thrown
  const code = networkCode(thrown, 0)
  if (code !== undefined) {
    const extras = MAY_HAVE_LEFT.has(code) ? { outcome: 'unknown' as const } : {}
    return new ToolExecutionError('SERVICE_UNAVAILABLE', unavailable(tool), extras, { cause: thrown })
  }
  return new ToolExecutionError('EXECUTION_ERROR', messageOf(thrown), {}, { cause: thrown })
}

/** A handler may have made or changed the error that it throws: only a code of the table goes on. */
const isSound = ({ code, message, extras }: ToolExecutionError): boolean =>
  Object.hasOwn(TOOL_ERRORS, code) && typeof message === 'string' && typeof extras === 'object' && extras !== null

/** The sentence for a tool whose service cannot be reached: no address, no secret. */
export const unavailable = (tool: string): string =>
  `The service behind tool '${tool}' is unavailable. Try again later.`

/** Codes can sit on the error itself, on its cause, or, where several addresses were tried, on its parts. */
function networkCode(thrown: unknown, depth: number): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || depth > 4) return undefined
  const { code, cause, errors } = read(thrown)
  if (typeof code === 'string' && (NEVER_LEFT.has(code) || MAY_HAVE_LEFT.has(code))) return code
  const deeper = networkCode(cause, depth + 1)
  if (deeper !== undefined || !Array.isArray(errors)) return deeper
  for (const one of errors.slice(0, 8)) {
    const found = networkCode(one, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

function messageOf(thrown: unknown): string {
  const text = typeof thrown === 'string' ? thrown : readMessage(thrown)
  if (text === undefined || text.trim() === '') return NO_REASON
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text
}

function readMessage(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined
  const { message } = read(thrown)
  return typeof message === 'string' ? message : undefined
}

/** A thrown object is a stranger's: its properties may be getters that throw. */
function read(thrown: object): { code?: unknown; cause?: unknown; errors?: unknown; message?: unknown } {
  try {
    const { code, cause, errors, message } = thrown as Record<string, unknown>
    return { code, cause, errors, message }
  } catch {
    return {}
  }
}
