import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Caller, LOCAL_CALLER, SCOPES } from '../../app/callers/callers.ts'
import { RESOURCE_METADATA } from '../http/authenticator.ts'
import { isOfOwnPage } from '../http/browser-sessions.ts'
import { type Issuer, SIGN_IN_SCOPE, type SignInSecrets } from '../http/issuer.ts'
import { found, HttpProblem } from '../http/problem.ts'
import { object, route, TEXT } from '../http/route.ts'
import { SignInError, type SignInFault } from '../http/sign-in-error.ts'
import type { Session } from '../http/views.ts'

/** A small limit, because these requests need no key. */
const BODY_BYTES = 1024

const SESSION = object(
  {
    state: {
      enum: ['signed_out', 'local', 'signed_in'],
      description: 'local: the server has no keys, and requests from this machine need none.',
    },
    id: { type: 'string', description: 'The id of the API key or the user.' },
    name: TEXT,
    tenant: TEXT,
    role: TEXT,
    scopes: { type: 'array', items: { enum: SCOPES } },
    user: { type: 'string', description: 'The user at the issuer, if it is not a key.' },
    sign_in: { type: 'boolean', description: 'Whether users can sign in at /api/session/oidc.' },
    payloads: {
      enum: ['off', 'errors', 'all'],
      description: 'Whether the parameters and results of calls are stored, if the caller may observe.',
    },
    currency: { type: 'string', description: 'costs.currency, for the amounts of budgets.' },
    version: TEXT,
  },
  'The caller, if there is one',
)

/** Sign-in for browsers. The server gets the key once, and the browser a session in a cookie that scripts can't read. */
export function sessionRoutes(app: FastifyInstance): void {
  const { installation, packageVersion: version, authenticator } = app
  const sessionOf = (caller: Caller | undefined): Session => {
    const shared = { ...(authenticator.issuer !== undefined && { sign_in: true }), version }
    if (caller === undefined) return { state: 'signed_out', scopes: [], ...shared }
    const { id, name, tenant, role, scopes, user } = caller
    const state = caller === LOCAL_CALLER ? 'local' : 'signed_in'
    const signedIn = {
      state,
      id,
      name,
      tenant,
      role,
      scopes: [...scopes],
      ...(user !== undefined && { user }),
      ...(scopes.has('observe') && { payloads: installation.payloads }),
      currency: installation.budgets.currency,
    } as const
    return { ...signedIn, ...shared }
  }

  app.get(
    '/api/session',
    route(null, 'session', 'Returns the session of this browser', {
      response: { 200: SESSION },
    }),
    async ({ raw }) => sessionOf(await authenticator.find(raw)),
  )

  app.post<{ Body: { key: string } }>(
    '/api/session',
    {
      bodyLimit: BODY_BYTES,
      onRequest: ({ headers, raw }, _reply, done) => {
        requireOwnPage(headers)
        authenticator.countSignIn(raw)
        done()
      },
      ...route(null, 'session', "Signs in with an API key: starts a session, whose cookie scripts can't read", {
        body: {
          type: 'object',
          required: ['key'],
          additionalProperties: false,
          properties: { key: { type: 'string', minLength: 1, maxLength: 200, examples: ['ty_…'] } },
        },
        response: { 200: SESSION },
      }),
    },
    async ({ raw, body }, reply) => {
      if (authenticator.local) return sessionOf(LOCAL_CALLER)
      const key = body.key.trim()
      const caller = installation.callers.find(key)
      if (caller === undefined) {
        authenticator.recordRefused(raw, key)
        throw new HttpProblem(401, 'The API key is not valid', 'it is unknown, revoked or expired')
      }
      // A session would outlast the grace period.
      if (installation.callers.isFormerSecret(key)) {
        authenticator.recordRefused(raw, key)
        throw new HttpProblem(401, 'The API key was rotated', 'sign in with its new secret')
      }
      reply.header('set-cookie', await authenticator.sessions.start(caller, raw))
      authenticator.recordSignIn(raw, caller)
      return sessionOf(caller)
    },
  )

  app.delete(
    '/api/session',
    {
      bodyLimit: BODY_BYTES,
      ...route(null, 'session', 'Signs out: ends the session; the API key stays valid', {
        response: { 204: { description: 'Signed out', type: 'null' } },
      }),
    },
    async ({ raw }, reply) => {
      requireOwnPage(raw.headers)
      return reply
        .header('set-cookie', await authenticator.sessions.end(raw))
        .code(204)
        .send()
    },
  )
}

function requireOwnPage(headers: Parameters<typeof isOfOwnPage>[0]): void {
  if (isOfOwnPage(headers)) return
  const fix = 'Origin and Host must name the same host and port; a proxy must pass Host on'
  throw new HttpProblem(403, 'Cross-origin requests are refused', fix)
}

const CALLBACK = '/api/session/oidc/callback'
const COOKIE = 'toolyard_sign_in'
/** Browsers accept this name only from the host itself over https: no other page of the domain can set the cookie. */
const HOST_COOKIE = `__Host-${COOKIE}`
const COOKIE_S = 600
const PENDING = /(?:^|;\s*)(__Host-)?toolyard_sign_in=([\w-]{1,200})\.([\w-]{1,200})\.([\w-]{1,200})(?=;|\s|$)/g

/** Sign-in at the configured issuer: code flow with PKCE. The browser keeps only random values of this flow. */
export function oidcRoutes(app: FastifyInstance): void {
  const { authenticator, mcp } = app
  const issuerOf = (): Issuer => found(authenticator.issuer, 'Sign-in', 'auth.oidc is not configured')
  const originOf = (request: FastifyRequest): string => {
    const origin = authenticator.publicUrl(request.raw.headers)
    if (origin === undefined) throw new HttpProblem(503, 'Sign-in needs server.public_url in the configuration')
    return origin
  }
  const cookie = (request: IncomingMessage, value: string, seconds: number): string => {
    const https = authenticator.sessions.isHttps(request)
    // Lax: the issuer sends the browser back from another site.
    const attributes = `Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax${https ? '; Secure' : ''}`
    return `${https ? HOST_COOKIE : COOKIE}=${value}; ${attributes}`
  }
  app.get(
    '/api/session/oidc',
    {
      onRequest: async ({ raw }) => authenticator.countSignIn(raw),
      ...route(null, 'session', 'Sends the browser to the configured issuer, to sign in', {
        response: { 302: { description: 'The address at the issuer', type: 'null' } },
      }),
    },
    async (request, reply) => {
      const issuer = issuerOf()
      const redirectUri = `${originOf(request)}${CALLBACK}`
      try {
        const { url, secrets } = await issuer.signInUrl(redirectUri)
        const { state, nonce, verifier } = secrets
        reply.header('set-cookie', cookie(request.raw, `${state}.${nonce}.${verifier}`, COOKIE_S))
        return reply.redirect(url)
      } catch (error) {
        return reply.redirect(pageOf(error))
      }
    },
  )

  app.get<{ Querystring: Record<string, string> }>(
    CALLBACK,
    {
      onRequest: async ({ raw }) => authenticator.countSignIn(raw),
      ...route(null, 'session', 'Takes the answer of the issuer, and starts a session', {
        response: { 302: { description: 'The web UI', type: 'null' } },
      }),
    },
    async (request, reply) => {
      const issuer = issuerOf()
      const redirectUri = `${originOf(request)}${CALLBACK}`
      const { raw } = request
      const cookies = [cookie(raw, '', 0)]
      let to = '/'
      try {
        const answer = new URL(raw.url ?? '', redirectUri).searchParams
        const caller = await issuer.finish(
          answer,
          pendingOf(raw.headers.cookie ?? '', authenticator.sessions.isHttps(raw)),
          redirectUri,
        )
        cookies.push(await authenticator.sessions.start(caller, raw))
        authenticator.recordSignIn(raw, caller)
      } catch (error) {
        to = pageOf(error)
        if (error instanceof SignInError && error.fault !== 'unavailable') {
          authenticator.recordRefused(raw, '', error.message)
        }
      }
      return reply.header('set-cookie', cookies).redirect(to)
    },
  )

  for (const path of ['', '/mcp', '/mcp/:name']) {
    app.get<{ Params: { name?: string } }>(
      `${RESOURCE_METADATA}${path}`,
      route(null, 'session', 'Returns where clients get a token for this server (RFC 9728)', {
        response: {
          200: object(
            {
              resource: TEXT,
              authorization_servers: { type: 'array', items: TEXT },
              scopes_supported: { type: 'array', items: TEXT },
              bearer_methods_supported: { type: 'array', items: TEXT },
              resource_name: TEXT,
            },
            'The metadata; 404 without auth.oidc',
          ),
        },
      }),
      async (request) => {
        const { name = '' } = request.params
        found(mcp.has(name) || undefined, `MCP server '${name}'`)
        const { issuer } = issuerOf().settings
        return {
          resource: `${originOf(request)}${path.replace(':name', name)}`,
          authorization_servers: [issuer],
          // Clients ask for these if they know no others. Some issuers refuse requests without any.
          scopes_supported: SIGN_IN_SCOPE.split(' '),
          bearer_methods_supported: ['header'],
          resource_name: 'Toolyard',
        }
      },
    )
  }
}

/** The values of the sign-in that this browser started. */
function pendingOf(cookie: string, isHttps: boolean): SignInSecrets {
  const all = [...cookie.matchAll(PENDING)]
  const [, , state, nonce, verifier] = all.find(([, host]) => (host !== undefined) === isHttps) ?? []
  if (state === undefined || nonce === undefined || verifier === undefined) {
    throw new SignInError('expired', 'this browser has not started to sign in, or too long ago')
  }
  return { state, nonce, verifier }
}

/** The page, which says why the user isn't signed in. Other errors are for the log. */
function pageOf(error: unknown): string {
  if (!(error instanceof SignInError)) throw error
  const fault: SignInFault = error.fault
  return `/?sign_in=${fault}`
}
