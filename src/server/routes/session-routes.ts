import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../config/callers/caller.ts'
import { LOCAL_CALLER } from '../../config/callers/callers.ts'
import { SCOPES } from '../../config/callers/scopes.ts'
import { cookieWith, emptyCookie, isOfOwnPage } from '../http/authenticator.ts'
import { HttpProblem } from '../http/problem.ts'
import type { Session } from '../http/views.ts'

/** Anybody may send these bodies, and a key is short. */
const BODY_BYTES = 1024

const SESSION = {
  type: 'object',
  properties: {
    state: {
      enum: ['signed_out', 'local', 'signed_in'],
      description: 'local: the server has no keys, and needs none from this machine.',
    },
    id: { type: 'string', description: 'The id of the key.' },
    name: { type: 'string' },
    tenant: { type: 'string' },
    role: { type: 'string' },
    scopes: { type: 'array', items: { enum: SCOPES } },
    version: { type: 'string' },
  },
}

/** Signing in and out: a key is typed once, and kept in a cookie that no script can read. */
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
    {
      config: { scope: null },
      schema: {
        summary: 'Whom requests of this browser are from',
        tags: ['session'],
        response: { 200: { description: 'The caller, if there is one', ...SESSION } },
      },
    },
    ({ raw }) => sessionOf(authenticator.find(raw)),
  )

  app.post<{ Body: { key: string } }>(
    '/api/session',
    {
      config: { scope: null },
      bodyLimit: BODY_BYTES,
      onRequest: ({ headers, raw }, _reply, done) => {
        refuseOthers(headers)
        authenticator.countSignIn(raw)
        done()
      },
      schema: {
        summary: 'Signs in: the key is kept in a cookie that no script can read',
        tags: ['session'],
        body: {
          type: 'object',
          required: ['key'],
          additionalProperties: false,
          properties: { key: { type: 'string', minLength: 1, maxLength: 200, examples: ['ty_…'] } },
        },
        response: { 200: { description: 'The caller', ...SESSION } },
      },
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
      config: { scope: null },
      bodyLimit: BODY_BYTES,
      schema: {
        summary: 'Signs out: the browser forgets the key, which stays valid',
        tags: ['session'],
        response: { 204: { description: 'It has', type: 'null' } },
      },
    },
    ({ headers }, reply) => {
      refuseOthers(headers)
      return reply.header('set-cookie', emptyCookie(headers)).code(204).send()
    },
  )
}

function refuseOthers(headers: Parameters<typeof isOfOwnPage>[0]): void {
  if (!isOfOwnPage(headers)) throw new HttpProblem(403, 'Cross-origin requests are refused')
}
