import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { ConnectError } from '../../app/connections/connections.ts'
import { connections as own } from '../../operations/connections.ts'
import { operationRoutes } from '../http/operation-routes.ts'
import { found, HttpProblem } from '../http/problem.ts'
import { exactly, object, pathParameter, route, TEXT } from '../http/route.ts'

const COOKIE = 'toolyard_connect'
/** Browsers accept this name only from the host itself over https: no other page of the domain can set the cookie. */
const HOST_COOKIE = `__Host-${COOKIE}`
const COOKIE_S = 600
const PENDING = /(?:^|;\s*)(__Host-)?toolyard_connect=([\w-]{1,200})(?=;|\s|$)/g

const STATUS = { denied: 403, refused: 403, expired: 410, unavailable: 503 } as const

const MAX_ANSWER_LENGTH = 16_000

/** Nothing that the provider or a stranger wrote is shown. */
const problemOf = (error: unknown): unknown =>
  error instanceof ConnectError
    ? new HttpProblem(STATUS[error.fault], 'The account could not be connected', error.message)
    : error

/** The accounts that users have connected at OAuth providers. */
export function connectionRoutes(app: FastifyInstance): void {
  const { installation, authenticator } = app
  const { connections } = installation
  const { operations } = own
  const cookie = (request: IncomingMessage, value: string, seconds: number): string => {
    const https = authenticator.sessions.isHttps(request)
    // Lax: the provider sends the browser back from another site.
    const attributes = `Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax${https ? '; Secure' : ''}`
    return `${https ? HOST_COOKIE : COOKIE}=${value}; ${attributes}`
  }

  operationRoutes({ list: operations.list })(app)

  app.post<{ Body: { provider?: string; link?: string } }>(
    '/api/connections',
    route('call', 'connections', 'Starts to connect an account: the browser then opens the returned address', {
      body: {
        ...exactly({
          provider: { ...TEXT, minLength: 1, maxLength: 64 },
          link: { ...TEXT, minLength: 1, maxLength: 2_000, description: 'The link of a connect_url, instead.' },
        }),
        minProperties: 1,
        maxProperties: 1,
      },
      response: { 200: object({ url: TEXT, provider: TEXT }, 'The address at the provider, for this browser only') },
    }),
    async ({ caller, body: { provider = '', link }, raw }, reply) => {
      const { tenant, id } = caller
      try {
        if (link === undefined) found(connections.has(provider) || undefined, `Provider '${provider}'`)
        const asked = link === undefined ? { provider } : { link }
        const { url, state, provider: name } = await connections.start(tenant, id, asked)
        reply.header('set-cookie', cookie(raw, state, COOKIE_S))
        return { url, provider: name }
      } catch (error) {
        throw problemOf(error)
      }
    },
  )

  app.get<{ Params: { provider: string } }>(
    '/api/connections/:provider/callback',
    route(null, 'connections', 'Sends the browser with the answer of a provider to the web UI', {
      params: pathParameter('provider', 64),
      response: { 302: { description: 'The web UI, which sends the answer as its user', type: 'null' } },
    }),
    // Browsers don't send the session cookie when another site sends them here: it isn't known who this is.
    async ({ params: { provider }, raw: { url = '' } }, reply) => {
      const answer = encodeURIComponent(url.split('?').slice(1).join('?'))
      return reply.redirect(`/settings#connection=${encodeURIComponent(provider)}&answer=${answer}`)
    },
  )

  app.post<{ Params: { provider: string }; Body: { answer: string } }>(
    '/api/connections/:provider/answer',
    route('call', 'connections', 'Takes the answer of a provider, and stores your account', {
      params: pathParameter('provider', 64),
      body: {
        ...exactly({
          answer: {
            ...TEXT,
            maxLength: MAX_ANSWER_LENGTH,
            description: 'The query with which the provider sent the browser back.',
          },
        }),
        required: ['answer'],
      },
      response: { 200: object({ provider: TEXT }, 'The account is connected') },
    }),
    async ({ caller, params: { provider }, body: { answer }, raw }, reply) => {
      reply.header('set-cookie', cookie(raw, '', 0))
      const isHttps = authenticator.sessions.isHttps(raw)
      const all = [...(raw.headers.cookie ?? '').matchAll(PENDING)]
      const state = all.find(([, host]) => (host !== undefined) === isHttps)?.[2]
      try {
        await connections.finish(provider, new URLSearchParams(answer), state, caller)
        return { provider }
      } catch (error) {
        throw problemOf(error)
      }
    },
  )

  operationRoutes({ revoke: operations.revoke })(app)
}
