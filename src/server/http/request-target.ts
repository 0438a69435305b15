import type { IncomingMessage, RequestListener } from 'node:http'
import { HttpProblem, PROBLEM_TYPE } from './problem.ts'
import { SECURITY_HEADERS } from './response-headers.ts'

/**
 * Headers that decide who asks, from where, or for what. Node.js takes the first of some and joins others, and a proxy may
 * read another one than this server.
 */
const SINGLE: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'x-api-key',
  'toolyard-user',
  'origin',
  'sec-fetch-site',
  'sec-fetch-mode',
  'sec-fetch-dest',
  'content-type',
  'idempotency-key',
  'mcp-session-id',
])

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i
/** Letters, digits and `-._~`: encoded or not, they mean the same (RFC 3986, 6.2.2.2). */
const UNRESERVED = /%(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/gi

/**
 * Gives the server one spelling of each request target, so that routes and rules see the same path. Answers requests
 * with 400 that different programs would read differently.
 */
export function checkRequests(listener: RequestListener): RequestListener {
  return (request, response) => {
    const repeated = repeatedHeader(request)
    const read = repeated === undefined ? normalTarget(request.url ?? '', request.headers.host) : undefined
    if (read !== undefined && 'target' in read) {
      request.url = read.target
      listener(request, response)
      return
    }
    const problem = new HttpProblem(400, read?.fault ?? `The header ${repeated} is sent more than once`)
    response.writeHead(400, { ...SECURITY_HEADERS, 'content-type': PROBLEM_TYPE, connection: 'close' })
    response.end(JSON.stringify(problem))
  }
}

function repeatedHeader({ rawHeaders }: IncomingMessage): string | undefined {
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase()
    if (!SINGLE.has(name)) continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

/**
 * The target in origin form, without needless percent-encoding. Dot segments and empty segments stay: no route has them.
 * Encoded delimiters stay, too: decoded, they would mean something else.
 */
export function normalTarget(
  target: string,
  host: string | undefined,
): { readonly target: string } | { readonly fault: string } {
  // Most targets need no change.
  if (target.startsWith('/') && !/[%#]/.test(target)) return { target }
  if (target.includes('#')) return { fault: 'The request target has a fragment' }
  if (target === '*') return { target }
  const [start = '', authority] = ABSOLUTE.exec(target) ?? []
  const rest = target.slice(start.length)
  if (authority !== undefined && authority.toLowerCase() !== host?.toLowerCase()) {
    return { fault: 'The request target and the Host header name different hosts' }
  }
  const origin = authority === undefined ? target : rest.startsWith('/') ? rest : `/${rest}`
  if (!origin.startsWith('/')) return { fault: 'The request target is not a path' }
  const end = origin.indexOf('?')
  const path = end === -1 ? origin : origin.slice(0, end)
  return { target: path.replace(UNRESERVED, decodeURIComponent) + origin.slice(path.length) }
}
