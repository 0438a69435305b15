import type { FastifyInstance } from 'fastify'
import { type Caller, LOCAL_CALLER, SCOPES } from '../../app/callers.ts'
import { cookieWith, emptyCookie, isOfOwnPage } from '../http/authenticator.ts'
import { HttpProblem } from '../http/problem.ts'
import { object, route, TEXT } from '../http/route.ts'
import type { Session } from '../http/views.ts'

/** A small limit, because these requests need no key. */
const BODY_BYTES = 1024

const SESSION = object(
  {
    state: {
      enum: ['signed_out', 'local', 'signed_in'],
      description: 'local: the server has no keys, and requests from this machine need none.',
    },
    id: { type: 'string', description: 'The id of the API key.' },
    name: TEXT,
    tenant: TEXT,
    role: TEXT,
    scopes: { type: 'array', items: { enum: SCOPES } },
    version: TEXT,
  },
  'The caller, if there is one',
)

/** Sign-in for browsers. The key is stored in a cookie that scripts can't read. */
export function sessionRoutes(app: FastifyInstance): void {
  const { installation, packageVersion: version, authenticator } = app
  const sessionOf = (caller: Caller | undefined): Session => {
    if (caller === undefined) return { state: 'signed_out', scopes: [], version }
    const { id, name, tenant, role, scopes } = caller
    const state = caller === LOCAL_CALLER ? 'local' : 'signed_in'
    return { state, id, name, tenant, role, scopes: [...scopes], version }
  }

  app.get(
    '/api/session',
    route(null, 'session', 'Returns the session of this browser', {
      response: { 200: SESSION },
    }),
    ({ raw }) => sessionOf(authenticator.find(raw)),
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
      ...route(null, 'session', "Signs in: stores the API key in a cookie that scripts can't read", {
        body: {
          type: 'object',
          required: ['key'],
          additionalProperties: false,
          properties: { key: { type: 'string', minLength: 1, maxLength: 200, examples: ['ty_…'] } },
        },
        response: { 200: SESSION },
      }),
    },
    ({ headers, body }, reply) => {
      if (authenticator.local) return sessionOf(LOCAL_CALLER)
      const key = body.key.trim()
      const caller = installation.callers.find(key)
      if (caller === undefined) {
        throw new HttpProblem(401, 'The API key is not valid', 'it is unknown, revoked or expired')
      }
      reply.header('set-cookie', cookieWith(key, headers))
      return sessionOf(caller)
    },
  )

  app.delete(
    '/api/session',
    {
      bodyLimit: BODY_BYTES,
      ...route(null, 'session', 'Signs out: removes the cookie; the API key stays valid', {
        response: { 204: { description: 'Signed out', type: 'null' } },
      }),
    },
    ({ headers }, reply) => {
      requireOwnPage(headers)
      return reply.header('set-cookie', emptyCookie(headers)).code(204).send()
    },
  )
}

function requireOwnPage(headers: Parameters<typeof isOfOwnPage>[0]): void {
  if (!isOfOwnPage(headers)) throw new HttpProblem(403, 'Cross-origin requests are refused')
}
