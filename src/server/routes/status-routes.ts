import type { FastifyInstance } from 'fastify'
import type { StorageStatus } from '../../core/storage/storage.ts'

/** Everybody may ask, so the store is asked for all of them together. */
const FRESH_MS = 1_000

/** Whether the server is up, and whether it can work. */
export function statusRoutes(app: FastifyInstance): void {
  const { installation, traffic, packageVersion: version } = app
  const storeStatus = latest(installation.clock.now, () => installation.storage.status().catch(() => UNKNOWN))

  app.get(
    '/health',
    {
      exposeHeadRoute: true,
      config: { scope: null },
      schema: {
        summary: 'Whether the server is up',
        tags: ['status'],
        response: { 200: { description: 'It is', type: 'object', properties: STATUS } },
      },
    },
    () => ({ status: 'ok', version }),
  )

  app.get(
    '/ready',
    {
      exposeHeadRoute: true,
      config: { scope: null },
      schema: {
        summary: 'Whether the server can work: its store, its MCP servers, its knowledge',
        tags: ['status'],
        response: { 200: { description: 'It can', ...READY }, 503: { description: 'It cannot', ...READY } },
      },
    },
    async (_request, reply) => {
      const { engine, ready, problem, vectors } = await storeStatus()
      const servers = installation.manager.getMcpServers()
      const connected = servers.names.filter((name) => servers.connection(name).connected)
      const status = traffic.draining ? 'draining' : ready ? 'ready' : 'not ready'
      return reply.code(status === 'ready' ? 200 : 503).send({
        status,
        version,
        store: { engine, ready, ...(problem !== undefined && { problem }) },
        mcp_servers: { connected: connected.length, configured: servers.names.length },
        knowledge: { vectors },
      })
    },
  )
}

const STATUS = { status: { type: 'string', examples: ['ok'] }, version: { type: 'string' } }
const READY = {
  type: 'object',
  properties: {
    status: { enum: ['ready', 'not ready', 'draining'] },
    version: { type: 'string' },
    store: {
      type: 'object',
      properties: {
        engine: { enum: ['sqlite', 'postgres'] },
        ready: { type: 'boolean' },
        problem: { type: 'string', description: 'What is wrong; absent where nothing is.' },
      },
    },
    mcp_servers: {
      type: 'object',
      properties: { connected: { type: 'integer' }, configured: { type: 'integer' } },
    },
    knowledge: {
      type: 'object',
      properties: { vectors: { type: 'boolean', description: 'Whether they can be kept.' } },
    },
  },
}

const UNKNOWN = { engine: 'sqlite', ready: false, problem: 'The store does not answer', vectors: false } as const

/** Asks again only when the last answer is a moment old. */
function latest(now: () => number, ask: () => Promise<StorageStatus>): () => Promise<StorageStatus> {
  let known: { readonly at: number; readonly status: Promise<StorageStatus> } | undefined
  return () => {
    if (known === undefined || now() - known.at >= FRESH_MS) known = { at: now(), status: ask() }
    return known.status
  }
}
