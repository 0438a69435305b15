import type { IncomingHttpHeaders } from 'node:http'
import type { Installation } from '../../app/installation.ts'

/** On every response: it is data, not a page, and must not be cached. */
export const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const

const EXPOSED =
  'Location, WWW-Authenticate, Retry-After, RateLimit, RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Mcp-Session-Id'
const METHODS = 'GET, POST, DELETE'
const HEADERS =
  'Authorization, X-API-Key, Content-Type, Accept, Idempotency-Key, X-Session-Id, Prefer, Toolyard-Durable, traceparent, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Last-Event-ID'
/** MCP clients repeat some parameters as headers. */
const PARAMETER = /^mcp-param-[\w-]{1,64}$/i
const MAX_PARAMETERS = 20
const PREFLIGHT_SECONDS = '600'

/** CORS headers, if the configuration allows any origin. */
export function corsHeaders({ config }: Installation, { origin }: IncomingHttpHeaders): Record<string, string> {
  const origins = config.server?.cors_origins
  if (origins === undefined || origins.length === 0) return {}
  if (origin === undefined || !origins.includes(origin)) return { vary: 'Origin' }
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': EXPOSED,
  }
}

/** The headers of a CORS preflight response; undefined if it isn't a preflight from an allowed origin. */
export function preflightHeaders(
  installation: Installation,
  headers: IncomingHttpHeaders,
): Record<string, string> | undefined {
  if (headers['access-control-request-method'] === undefined) return undefined
  const allowed = corsHeaders(installation, headers)
  if (allowed['access-control-allow-origin'] === undefined) return undefined
  const asked = headers['access-control-request-headers']?.split(',', 100).map((name) => name.trim()) ?? []
  const parameters = asked.filter((name) => PARAMETER.test(name)).slice(0, MAX_PARAMETERS)
  return {
    ...allowed,
    'access-control-allow-methods': METHODS,
    'access-control-allow-headers': [HEADERS, ...parameters].join(', '),
    'access-control-max-age': PREFLIGHT_SECONDS,
  }
}
