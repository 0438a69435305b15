import type { FastifyInstance } from 'fastify'
import type { Service } from '../service.ts'

const METHODS = {
  POST: 'One message to the MCP server, and its answer',
  GET: 'The messages that the MCP server has for a session, as events',
  DELETE: 'Ends a session',
} as const

/** `/mcp`: the tools over the Model Context Protocol, streamable HTTP. */
export function mcpRoutes(app: FastifyInstance, { mcp }: Service): void {
  app.register(async (routes) => {
    // The door reads bodies itself, by the rules of the protocol.
    routes.removeAllContentTypeParsers()
    routes.addContentTypeParser('*', (_request, _payload, done) => done(null))
    for (const [method, summary] of Object.entries(METHODS)) {
      routes.route({
        method,
        url: '/mcp',
        config: { scope: 'call', stays: true },
        schema: { summary, tags: ['mcp'] },
        handler: async ({ caller, raw }, reply) => {
          reply.hijack()
          for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value as string)
          await mcp.handle(caller, raw, reply.raw)
        },
      })
    }
  })
}
