import type { FastifyInstance } from 'fastify'
import type { Service } from '../service.ts'
import { TENANT_QUERY, tenantAsked } from '../tenant-asked.ts'

/** The figures of this server, for Prometheus. */
export function prometheusRoutes(app: FastifyInstance, { installation, prometheus }: Service): void {
  app.get<{ Querystring: { readonly tenant?: string } }>(
    '/metrics',
    {
      config: { scope: 'observe' },
      schema: {
        summary: 'The figures of this server since it started, in the text format of Prometheus',
        tags: ['metrics'],
        querystring: { type: 'object', additionalProperties: false, properties: TENANT_QUERY },
        response: { 200: { description: 'The figures', content: { 'text/plain': { schema: { type: 'string' } } } } },
      },
    },
    async (request, reply) => {
      const tenant = tenantAsked(request, request.query.tenant)
      installation.manager.getExecutor().flush()
      return reply.type(prometheus.contentType).send(await prometheus.text(tenant))
    },
  )
}
