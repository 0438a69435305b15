import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { object } from '../http/route.ts'

const DESCRIPTION = `Runs tools for AI models. Every call is validated, authorized, timed out and recorded.

Send your API key as \`Authorization: Bearer <key>\` or \`X-API-Key: <key>\`. Tool calls are answered with an envelope,
\`{"success", …}\`. All other errors are \`application/problem+json\` with the message in \`error\`.`

const PROBLEM = object(
  {
    type: { type: 'string', examples: ['about:blank'] },
    title: { type: 'string', examples: ['The API key lacks the scope'] },
    status: { type: 'integer', examples: [403] },
    detail: { type: 'string' },
    error: { type: 'string', description: 'The full message.' },
  },
  'The error, as application/problem+json',
)

const TAGS = [
  { name: 'tools', description: 'List and call tools' },
  { name: 'jobs', description: 'Tool calls in the background' },
  { name: 'chat', description: 'Questions that models answer with tools' },
  { name: 'openai', description: 'OpenAI-compatible endpoints' },
  { name: 'mcp', description: 'The tools over the Model Context Protocol, and the MCP servers in use' },
  { name: 'models', description: 'Models, suites and test results' },
  { name: 'runs', description: 'Recorded runs' },
  { name: 'metrics', description: 'Metrics of calls and runs' },
  { name: 'audit', description: 'The audit log' },
  { name: 'limits', description: 'Rate limits, budgets and circuit breakers' },
  { name: 'session', description: 'Sign-in for browsers' },
  { name: 'keys', description: 'API keys, roles and tenants' },
  { name: 'status', description: 'Liveness and readiness' },
]

/** The API reference loads everything from this server. Its script sets inline styles. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ')

/** Collects the schemas of all routes that are registered later. */
export async function collectOpenApi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Toolyard', version, description: DESCRIPTION },
      tags: TAGS,
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key from "toolyard keys create".' },
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'X-API-Key',
            description: 'The same API key in another header.',
          },
        },
      },
    },
    transform: ({ schema, url, route }) => ({ schema: documented(schema, route), url: url.replace('*', ':id') }),
  })
}

/** The API reference: the OpenAPI document and a web page. Both are public. */
export async function openApiRoutes(app: FastifyInstance): Promise<void> {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, scope: null }
  })
  app.get(
    '/openapi.json',
    { schema: { summary: 'Returns this API reference as an OpenAPI document', tags: ['status'] } },
    () => app.swagger(),
  )
  await app.register(async (docs) => {
    docs.addHook('onRequest', (_request, reply, done) => {
      reply.header('content-security-policy', PAGE_POLICY)
      done()
    })
    await docs.register(swaggerUi, {
      routePrefix: '/docs',
      theme: { title: 'Toolyard' },
      uiConfig: {
        layout: 'BaseLayout',
        docExpansion: 'list',
        deepLinking: true,
        tryItOutEnabled: true,
        validatorUrl: null,
      },
    })
  })
}

/** Adds the scope and the error response to the schema of a route. */
function documented(schema: RouteOptions['schema'], { config }: RouteOptions): NonNullable<RouteOptions['schema']> {
  const scope = config?.scope
  const needs = scope ? `Needs an API key with the scope \`${scope}\`.` : 'Public.'
  const { description, response, ...rest } = schema ?? {}
  return {
    ...rest,
    description: description === undefined ? needs : `${description}\n\n${needs}`,
    security: scope ? [{ bearer: [] }, { apiKey: [] }] : [],
    response: { ...(response as object), ...(scope && { '4XX': PROBLEM }) },
  }
}
