import { TOOL_ERRORS, ToolExecutionError } from './tool-result.ts'

const MAX_MESSAGE_LENGTH = 8_192

const NO_REASON = 'The tool failed without an error message'

/** Converts anything thrown into a ToolExecutionError, by error code and never by text. Never throws. */
export function asToolError(thrown: unknown, tool: string): ToolExecutionError {
  try {
    return convert(thrown, tool)
  } catch {
    // Every operation on a proxy may throw.
    return new ToolExecutionError('EXECUTION_ERROR', NO_REASON)
  }
}

function convert(thrown: unknown, tool: string): ToolExecutionError {
  if (thrown instanceof ToolExecutionError && isValid(thrown)) return cutError(thrown)
  const code = networkCode(thrown)
  if (code !== undefined) {
    const extras = mayHaveLeft(code) ? { outcome: 'unknown' as const } : {}
    return new ToolExecutionError('SERVICE_UNAVAILABLE', unavailable(tool), extras, { cause: thrown })
  }
  return new ToolExecutionError('EXECUTION_ERROR', messageOf(thrown), {}, { cause: thrown })
}

/** A remote tool may say anything of any length. */
function cutError(error: ToolExecutionError): ToolExecutionError {
  const { code, message, extras, cause, repeat } = error
  if (message.length <= MAX_MESSAGE_LENGTH) return error
  return new ToolExecutionError(code, cutMessage(message), extras, { cause, repeat })
}

function cutMessage(text: string): string {
  if (text.length <= MAX_MESSAGE_LENGTH) return text
  return `${text.slice(0, MAX_MESSAGE_LENGTH).toWellFormed()}… [cut: the message has ${text.length} characters]`
}

/** A handler may have changed the error it throws. */
const isValid = ({ code, message, extras }: ToolExecutionError): boolean =>
  Object.hasOwn(TOOL_ERRORS, code) && typeof message === 'string' && typeof extras === 'object' && extras !== null

/** The error message when a service can't be reached. It reveals no address and no secret. */
export const unavailable = (tool: string): string =>
  `The service behind tool '${tool}' is unavailable. Try again later.`

function messageOf(thrown: unknown): string {
  const text = typeof thrown === 'string' ? thrown : read(Object(thrown)).message
  if (typeof text !== 'string' || text.trim() === '') return NO_REASON
  return cutMessage(text)
}

/** No connection was established, so nothing was sent. */
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

/** The connection was lost: the request may have arrived. */
const MAY_HAVE_LEFT = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
])

/** The error codes of Node, its resolver, its HTTP client and its TLS. */
const ERROR_CODE =
  /^(E[A-Z]{3,}|(?:EAI|UND_ERR|HPE|CERT|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|ERR_(?:TLS|SSL|STREAM|SOCKET|HTTP2))_[A-Z0-9_]+|ERR_INVALID_URL)$/

const MAX_PARTS = 8
const MAX_VISITED = 50

/** The code of a connection error anywhere in a thrown value. Only codes that can't mean anything else count. */
export const networkCode = (thrown: unknown): string | undefined =>
  findCode(thrown, (code) => NEVER_LEFT.has(code) || MAY_HAVE_LEFT.has(code), { left: MAX_VISITED })

/** The code of an error that is known to come from a connection. */
export const connectionCode = (thrown: unknown): string | undefined =>
  findCode(thrown, (code) => ERROR_CODE.test(code), { left: MAX_VISITED })

const CONNECTION_PROBLEMS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: "the name server didn't answer",
  EAI_FAIL: 'the name server failed',
  ENETUNREACH: 'there is no route to the host',
  EHOSTUNREACH: 'there is no route to the host',
  EADDRNOTAVAIL: 'there is no local address for the connection',
  ETIMEDOUT: 'no answer',
  UND_ERR_CONNECT_TIMEOUT: 'no answer',
  UND_ERR_HEADERS_TIMEOUT: 'no answer',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped',
  ECONNRESET: 'the connection was closed',
  ECONNABORTED: 'the connection was closed',
  EPIPE: 'the connection was closed',
  UND_ERR_SOCKET: 'the connection was closed',
}

const PROBLEMS_BY_PREFIX = [
  [/^(?:CERT|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|ERR_TLS_CERT)_/, 'the certificate is not trusted'],
  [/^(?:ERR_SSL|ERR_TLS)_|^EPROTO$/, 'the TLS handshake failed'],
  [/^HPE_/, 'the answer is not HTTP'],
] as const

/** Why a connection failed, without its address: "no such host (ENOTFOUND)"; undefined for other errors. */
export function connectionProblem(thrown: unknown): string | undefined {
  const code = connectionCode(thrown)
  if (code === undefined) return undefined
  const known = PROBLEMS_BY_PREFIX.find(([prefix]) => prefix.test(code))?.[1]
  return `${CONNECTION_PROBLEMS[code] ?? known ?? 'the connection failed'} (${code})`
}

/** Whether the request may have arrived before the connection failed with this code. */
export const mayHaveLeft = (code: string): boolean => !NEVER_LEFT.has(code)

/** The code may be on the error, on its cause, or on one of its parts if several addresses were tried. */
function findCode(thrown: unknown, matches: (code: string) => boolean, budget: { left: number }): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || budget.left-- <= 0) return undefined
  const { code, cause, errors } = read(thrown)
  if (typeof code === 'string' && matches(code)) return code
  const deeper = findCode(cause, matches, budget)
  if (deeper !== undefined || !Array.isArray(errors)) return deeper
  for (const one of errors.slice(0, MAX_PARTS)) {
    const found = findCode(one, matches, budget)
    if (found !== undefined) return found
  }
  return undefined
}

/** Any property of a thrown object may be a getter that throws. */
function read(thrown: object): Readonly<Record<'message' | 'code' | 'cause' | 'errors', unknown>> {
  try {
    const { message, code, cause, errors } = thrown as Record<string, unknown>
    return { message, code, cause, errors }
  } catch {
    return { message: undefined, code: undefined, cause: undefined, errors: undefined }
  }
}

const SECONDS = /^\d{1,10}(?:\.\d{1,10})?$/
/** `Date.parse` alone accepts nearly anything. */
const HTTP_DATE = /^[A-Z][a-z]{2,8},? .* GMT$/

/** Reads a `retry-after` header: seconds or a date. */
export function retryAfterMs(header: string | undefined, wallMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (SECONDS.test(text)) return Math.ceil(Number(text) * 1_000)
  const ms = HTTP_DATE.test(text) ? Date.parse(text) - wallMs : Number.NaN
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
