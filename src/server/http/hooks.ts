import type { ServerResponse } from 'node:http'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  preHandlerHookHandler,
  RouteOptions,
} from 'fastify'
import { actingFor, type Caller, LOCAL_CALLER } from '../../app/callers/callers.ts'
import { MAX_SUBJECT_LENGTH } from '../../app/callers/users.ts'
import { parseBody } from '../../core/json/json-depth.ts'
import { LIMITS } from '../../core/snapshot.ts'
import { keyEnded } from './authenticator.ts'
import { HttpProblem } from './problem.ts'
import { corsHeaders, preflightHeaders, SECURITY_HEADERS } from './response-headers.ts'
import type { NeededScope } from './route.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly knownRoutes: KnownRoutes
  }
}

/** The content types of JSON bodies. */
export const JSON_TYPES = /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/

/** A client that takes nothing of a response for this long is disconnected. */
const STALLED_CLIENT_TIMEOUT_MS = 30_000

/** Adds the hooks of all routes: response headers, authentication, unknown paths and stalled clients. */
export function addHooks(app: FastifyInstance): void {
  const { installation, traffic, authenticator } = app
  /** Ends the request of a user when its token expires, as those of a key end with the key. */
  const endWithToken = ({ expiresAt }: Caller, response: ServerResponse): void => {
    const leftMs = expiresAt - installation.clock.wall()
    if (leftMs > MAX_TIMER_MS) return
    response.once(
      'close',
      installation.clock.after(leftMs, () => response.destroy()),
    )
  }
  const actFor = (caller: Caller, user: unknown, isPossible: boolean | undefined, path: string): Caller => {
    const elsewhere = 'it works at /tools/execute and /mcp only'
    const acting = isPossible === true ? actingFor(caller, user) : elsewhere
    const { id, tenant } = caller
    const problem = typeof acting === 'string' ? acting : undefined
    const detail = { ...(problem !== undefined && { problem }), path }
    const subject = String(user).slice(0, MAX_SUBJECT_LENGTH)
    const failed = problem !== undefined
    // Repeats have the outcome of the first: a refused one must not hide those that follow.
    const source = failed ? `${id} refused` : id
    installation.events.count('user.acted_for', source, { by: caller, tenant, subject, failed, detail })
    if (typeof acting !== 'string') return acting
    const status = acting === elsewhere ? 400 : 403
    throw new HttpProblem(status, 'The header Toolyard-User is refused', acting)
  }
  const routes = new KnownRoutes()
  app.decorate('knownRoutes', routes)
  app.addHook('onRoute', (route) => {
    routes.add(route)
    // A hook per route, because the getter `request.routeOptions` is slow. Plugins may still set the scope later.
    const guard: onRequestHookHandler = (request, reply, done) => {
      const { scope, stays, actsFor, isMcp } = route.config ?? {}
      if (!stays) traffic.count(reply.raw)
      if (scope === null) return done()
      const enter = (caller: Caller): void => {
        const { 'toolyard-user': user } = request.headers
        try {
          request.caller = user === undefined ? caller : actFor(caller, user, actsFor, route.url)
        } catch (error) {
          done(error as HttpProblem)
          return
        }
        if (caller.user !== undefined) endWithToken(caller, reply.raw)
        done()
      }
      const mcpPath = isMcp === true ? mcpPathOf(request.params) : undefined
      const caller = authenticator.authenticate(request.raw, scope, mcpPath)
      if (!(caller instanceof Promise)) return enter(caller)
      // A client that has disconnected meanwhile gets no stream: nothing would close it.
      caller.then((found) => void (reply.raw.destroyed || enter(found)), done)
    }
    // The key may have ended while the body was sent.
    if (route.method !== 'GET') {
      const recheck: preHandlerHookHandler = ({ caller }, _reply, done) => {
        if (caller === LOCAL_CALLER ? !authenticator.local : caller && !installation.callers.isValid(caller.id)) {
          throw keyEnded()
        }
        // Bodies that arrive together are all read before the first handler runs: under load, many times the same step
        // costs a third less than one whole request after another.
        setImmediate(done)
      }
      route.preHandler = [recheck, ...[route.preHandler ?? []].flat()]
    }
    route.onRequest = [guard, ...[route.onRequest ?? []].flat()]
  })
  app.addHook('onReady', (done) => {
    const open = routes.all().find(({ scope }) => scope === undefined)
    done(open && new TypeError(`The route ${open.method} ${open.url} must name its scope, or null`))
  })
  app.addHook('onRequest', (request, reply, done) => {
    const { headers } = request
    reply.headers(SECURITY_HEADERS)
    if (installation.config.server?.cors_origins !== undefined) reply.headers(corsHeaders(installation, headers))
    authenticator.checkOrigin(request)
    if (request.is404) answerUnknownPath(request, reply, routes, done)
    else done()
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    const { raw } = reply
    if (traffic.draining) reply.header('connection', 'close')
    done(null, payload)
    // `done` has written the response. A timer for each one would be expensive: few are still waiting for the client.
    if (!raw.writableEnded || raw.writableLength > 0) raw.setTimeout(STALLED_CLIENT_TIMEOUT_MS, () => raw.destroy())
  })
  app.addHook('onError', (_request, reply, _error, done) => {
    // Fastify closes the connection on a bad body. A client that is still sending might then never read the answer;
    // without this header, Node.js discards the rest of the body.
    reply.removeHeader('connection')
    done()
  })
}

/** Timers can't be much longer than three weeks. */
const MAX_TIMER_MS = 20 * 86_400_000

/** The path of the MCP server that a route has matched. */
function mcpPathOf(params: unknown): string {
  const { name = '' } = params as { readonly name?: string }
  return name === '' ? '/mcp' : `/mcp/${encodeURIComponent(name)}`
}

/** Whether a browser opens an address. */
export const opensPage = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' && /\btext\/html\b/i.test(headers.accept ?? '')

export const unknownPath = (): HttpProblem => new HttpProblem(404, 'Not found', 'GET /docs lists the endpoints')

/** Answers a CORS preflight. Throws 405 if other methods exist at the path, and otherwise 404: browsers get the page. */
function answerUnknownPath(request: FastifyRequest, reply: FastifyReply, routes: KnownRoutes, done: () => void): void {
  const { method, headers, url } = request
  const preflight = method === 'OPTIONS' && preflightHeaders(request.server.installation, headers)
  if (preflight) {
    reply.headers(preflight).code(204).send()
    return
  }
  const allowed = routes.methodsOf(url.split('?', 1)[0] as string)
  if (allowed.length === 0 || allowed.includes(method)) {
    if (!opensPage(request)) throw unknownPath()
    done()
    return
  }
  const allow = allowed.join(', ')
  throw new HttpProblem(405, 'Method not allowed', `${method} is not supported here; use ${allow}`, { allow })
}

/** Fastify's JSON parser behind our checks. Keys such as `__proto__` are data: parameters of tools may have them. */
export function parseJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('ignore', 'ignore')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(JSON_TYPES, { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      const value = parseBody(bytes, LIMITS.bodyDepth, (text) => {
        let parsed: unknown
        parse(request, text, (error, body) => {
          if (error !== null) throw error
          parsed = body
        })
        return parsed
      })
      done(null, value)
    } catch (error) {
      done(error as Error)
    }
  })
}

export interface KnownRoute {
  readonly method: string
  /** As registered: `/api/jobs/:id`, `/docs/*`. */
  readonly url: string
  /** The scope that a caller needs; null: none. */
  readonly scope: NeededScope | null | undefined
}

/** Every route of a server. It tells a wrong method from an unknown path. */
export class KnownRoutes {
  readonly #routes: {
    readonly methods: readonly string[]
    readonly url: string
    readonly pattern: RegExp
    readonly options: RouteOptions
  }[] = []

  add(options: RouteOptions): void {
    const { method, url } = options
    this.#routes.push({ methods: [method].flat(), url, pattern: patternOf(url), options })
  }

  all(): KnownRoute[] {
    return this.#routes.flatMap(({ methods, url, options: { config } }) =>
      methods.map((method) => ({ method, url, scope: config?.scope })),
    )
  }

  /** The methods of a requested path; empty if the path is unknown. */
  methodsOf(path: string): string[] {
    const found = this.#routes.filter(({ pattern }) => pattern.test(path))
    return [...new Set(found.flatMap(({ methods }) => methods))].sort()
  }
}

function patternOf(url: string): RegExp {
  const parts = url.split(/(:\w+|\*)/).map((part) => {
    if (part === '*') return '.*'
    return part.startsWith(':') ? '[^/]+' : RegExp.escape(part)
  })
  return new RegExp(`^${parts.join('')}$`)
}
