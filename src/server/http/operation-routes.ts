import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AnyOperation, OperationCall, TenantChoice } from '../../operations/operation.ts'
import { ONE_TENANT_QUERY, TENANT_QUERY, tenantAsked } from './context.ts'
import { HttpProblem } from './problem.ts'
import { route } from './route.ts'

const TENANT_FIELDS: Readonly<Record<TenantChoice, object>> = { own: {}, one: ONE_TENANT_QUERY, any: TENANT_QUERY }

/** The routes of operations: they check the input, say who calls, and write the answer. */
export const operationRoutes =
  (operations: Readonly<Record<string, AnyOperation>>) =>
  (app: FastifyInstance): void => {
    for (const operation of Object.values(operations)) addRoute(app, operation)
  }

function addRoute(app: FastifyInstance, operation: AnyOperation): void {
  const { method, path, scope, tag, summary, description, params, body, tenant = 'own', status = 200 } = operation
  if (method === undefined || path === undefined) return
  const query = withTenant(operation.query, tenant)
  const options = route(scope, tag, summary, {
    ...(description !== undefined && { description }),
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body }),
    response: { [status]: operation.answer },
  })
  app.route({
    method,
    url: path,
    ...options,
    handler: async (request, reply) => {
      // What no schema has checked is no input: it could be a field that only the user of this machine may send.
      const input = {
        ...(body && Object(request.body)),
        ...(query && Object(request.query)),
        ...(params && Object(request.params)),
      } as never
      const call = callOf(app, operation, request, reply)
      await operation.check?.(app.installation, input, call)
      return reply.code(status).send(await operation.run(app.installation, input, call))
    },
  })
}

/** The fields of the query, with the one that selects another tenant. */
function withTenant(query: object | undefined, tenant: TenantChoice): object | undefined {
  if (tenant === 'own') return query
  const { properties = {}, ...rest } = (query ?? { type: 'object', additionalProperties: false }) as {
    readonly properties?: object
  }
  return { ...rest, properties: { ...properties, ...TENANT_FIELDS[tenant] } }
}

function callOf(
  { authenticator, installation }: FastifyInstance,
  { tenant = 'own', summary }: AnyOperation,
  request: FastifyRequest,
  reply: FastifyReply,
): OperationCall {
  const { caller, headers, raw } = request
  const { tenant: asked } = request.query as { readonly tenant?: string }
  const given = tenant === 'own' ? caller.tenant : tenantAsked(request, asked)
  if (tenant === 'one' && given === undefined) {
    throw new HttpProblem(400, `${summary}: one tenant at a time`, 'send its name as ?tenant=')
  }
  const aborted = new AbortController()
  reply.raw.once('close', () => aborted.abort())
  const goOnAs = async (id: string): Promise<void> => {
    const next = installation.callers.byId(id)
    if (next === undefined) return
    reply.header('set-cookie', await authenticator.sessions.start(next, raw))
    if (id !== caller.id) authenticator.recordSignIn(raw, next)
  }
  // Browsers send their origin with every request that changes something, and the server has compared it with its own.
  const isPage = headers.origin !== undefined
  return {
    ...{ caller, by: caller, tenant: given, signal: aborted.signal, keyless: authenticator.keyless },
    face: isPage ? 'page' : 'rest',
    ...(isPage && { goOnAs }),
  }
}
