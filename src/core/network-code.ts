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

/** As Node, its resolver, its HTTP client and its TLS write them; `EXECUTION_ERROR` and the codes of SDKs are others. */
const WRITTEN =
  /^(E[A-Z]{3,}|(?:EAI|UND_ERR|HPE|CERT|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|ERR_(?:TLS|SSL|STREAM|SOCKET|HTTP2))_[A-Z0-9_]+|ERR_INVALID_URL)$/

const MOST_PARTS = 8
const MOST_LOOKED_AT = 50

/** The code of a failed connection in an error of anybody's: one that can mean nothing else. */
export const networkCode = (thrown: unknown): string | undefined =>
  findCode(thrown, (code) => NEVER_LEFT.has(code) || MAY_HAVE_LEFT.has(code), { left: MOST_LOOKED_AT })

/** The code in an error that is known to come from a connection: any that says how it failed. */
export const connectionCode = (thrown: unknown): string | undefined =>
  findCode(thrown, (code) => WRITTEN.test(code), { left: MOST_LOOKED_AT })

/** Whether what was sent over a connection that failed with this code may have arrived. */
export const mayHaveLeft = (code: string): boolean => !NEVER_LEFT.has(code)

/** Codes can sit on the error itself, on its cause, or, where several addresses were tried, on its parts. */
function findCode(thrown: unknown, isOne: (code: string) => boolean, budget: { left: number }): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || budget.left-- <= 0) return undefined
  const { code, cause, errors } = read(thrown)
  if (typeof code === 'string' && isOne(code)) return code
  const deeper = findCode(cause, isOne, budget)
  if (deeper !== undefined || !Array.isArray(errors)) return deeper
  for (const one of errors.slice(0, MOST_PARTS)) {
    const found = findCode(one, isOne, budget)
    if (found !== undefined) return found
  }
  return undefined
}

/** A thrown object is a stranger's: its properties may be getters that throw. */
function read(thrown: object): { code?: unknown; cause?: unknown; errors?: unknown } {
  try {
    const { code, cause, errors } = thrown as Record<string, unknown>
    return { code, cause, errors }
  } catch {
    return {}
  }
}
