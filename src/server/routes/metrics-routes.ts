import type { FastifyInstance } from 'fastify'
import type { StorageStatus } from '../../core/storage/storage.ts'
import { TENANT_QUERY, tenantAsked } from '../http/context.ts'
import { COUNT, exactly, object, route, TEXT } from '../http/route.ts'

/** The metrics of this server for Prometheus. */
export function prometheusRoutes(app: FastifyInstance): void {
  const { installation, prometheus } = app
  app.get<{ Querystring: { readonly tenant?: string } }>(
    '/metrics',
    route('observe', 'metrics', 'Metrics of this server since it started, in the Prometheus text format', {
      querystring: exactly(TENANT_QUERY),
      response: { 200: { description: 'The metrics', content: { 'text/plain': { schema: TEXT } } } },
    }),
    async (request, reply) => {
      const tenant = tenantAsked(request, request.query.tenant)
      installation.manager.getExecutor().flush()
      return reply.type(prometheus.contentType).send(await prometheus.text(tenant))
    },
  )
}

/** These routes need no key, so the status of the store is cached. */
const CACHE_MS = 1_000

/** Liveness and readiness checks. */
export function statusRoutes(app: FastifyInstance): void {
  const { installation, traffic, packageVersion: version } = app
  const storeStatus = latest(installation.clock.now, () => installation.storage.status().catch(() => UNKNOWN))

  app.get(
    '/health',
    {
      exposeHeadRoute: true,
      ...route(null, 'status', 'Liveness: whether the server is up', {
        response: { 200: object({ status: { type: 'string', examples: ['ok'] }, version: TEXT }, 'Up') },
      }),
    },
    () => ({ status: 'ok', version }),
  )

  app.get(
    '/ready',
    {
      exposeHeadRoute: true,
      ...route(null, 'status', 'Readiness: the state of the store, the MCP servers and the knowledge base', {
        response: { 200: { ...READY, description: 'Ready' }, 503: { ...READY, description: 'Not ready' } },
      }),
    },
    async (_request, reply) => {
      const { engine, ready, problem, vectors } = await storeStatus()
      const servers = installation.manager.getMcpServers()
      const connected = servers.names.filter((name) => servers.connection(name).connected)
      const status = traffic.draining ? 'draining' : ready ? 'ready' : 'not ready'
      return reply.code(status === 'ready' ? 200 : 503).send({
        status,
        version,
        store: { engine, ready, problem },
        mcp_servers: { connected: connected.length, configured: servers.names.length },
        knowledge: { vectors },
      })
    },
  )
}

const READY = object({
  status: { enum: ['ready', 'not ready', 'draining'] },
  version: TEXT,
  store: object({
    engine: { enum: ['sqlite', 'postgres'] },
    ready: { type: 'boolean' },
    problem: { type: 'string', description: 'Absent if there is none.' },
  }),
  mcp_servers: object({ connected: COUNT, configured: COUNT }),
  knowledge: object({ vectors: { type: 'boolean', description: 'Whether the store supports vectors.' } }),
})

const UNKNOWN = { engine: 'sqlite', ready: false, problem: 'The store does not respond', vectors: false } as const

/** Caches the status for a moment. */
function latest(now: () => number, ask: () => Promise<StorageStatus>): () => Promise<StorageStatus> {
  let known: { readonly at: number; readonly status: Promise<StorageStatus> } | undefined
  return () => {
    if (known === undefined || now() - known.at >= CACHE_MS) known = { at: now(), status: ask() }
    return known.status
  }
}
