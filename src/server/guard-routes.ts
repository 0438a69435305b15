import type { FastifyInstance } from 'fastify'
import { corsHeaders } from './cors.ts'
import type { Gate } from './gate.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import type { Service } from './service.ts'

/** How long an answer may lie there without its client taking any of it. */
const PATIENCE_MS = 30_000

/** What goes for all routes of an app: who is let in, what every answer carries, and who does not take it in time. */
export function guardRoutes(app: FastifyInstance, { installation, traffic }: Service, gate: Gate): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { headers, raw, routeOptions } = request
    gate.checkOrigin(headers)
    const { scope, stays } = routeOptions.config
    if (scope) request.caller = gate.enter(raw, scope)
    reply.headers({ ...SECURITY_HEADERS, ...corsHeaders(installation, headers) })
    if (!stays) reply.raw.once('close', traffic.begin())
    done()
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    // Fastify closes the connection on a bad body. A client that is still sending might then never read the answer;
    // without this header, Node.js discards the rest of the body.
    reply.removeHeader('connection')
    reply.raw.setTimeout(PATIENCE_MS, () => reply.raw.destroy())
    done(null, payload)
  })
}
