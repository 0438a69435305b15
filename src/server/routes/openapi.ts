import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, RouteOptions } from 'fastify'

const DESCRIPTION = `Runs tools for AI models: validated, permitted, bounded in time, recorded and measured.

Send your API key as \`Authorization: Bearer <key>\` or \`X-API-Key: <key>\`. Calls of tools are answered with an
envelope, \`{"success", …}\`; all other errors are \`application/problem+json\`, whose \`error\` is the message.`

const PROBLEM = {
  description: 'What went wrong, as application/problem+json',
  type: 'object',
  properties: {
    type: { type: 'string', examples: ['about:blank'] },
    title: { type: 'string', examples: ['The API key lacks the scope'] },
    status: { type: 'integer', examples: [403] },
    detail: { type: 'string' },
    error: { type: 'string', description: 'The whole message.' },
  },
}

const TAGS = [
  { name: 'tools', description: 'Lists of tools, and calls of them' },
  { name: 'jobs', description: 'Calls that run in the background' },
  { name: 'chat', description: 'Questions that models answer with tools' },
  { name: 'openai', description: 'The same for clients of OpenAI' },
  { name: 'mcp', description: 'The tools over the Model Context Protocol' },
  { name: 'models', description: 'Models, and what tests of them have shown' },
  { name: 'runs', description: 'Conversations, step by step' },
  { name: 'metrics', description: 'How calls and runs went' },
  { name: 'audit', description: 'Who called what, and how it ended' },
  { name: 'limits', description: 'What holds calls back, and how it stands' },
  { name: 'session', description: 'Signing in with a browser' },
  { name: 'keys', description: 'API keys, roles, and tenants with their flags' },
  { name: 'status', description: 'Whether the server is up, and what it offers' },
]

/** Everything that the page of the documentation loads comes from here. Its styles are set by its own script. */
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

/** Collects what the routes say of themselves; to be called before there are any. */
export async function collectOpenApi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Toolyard',
        version,
        description: DESCRIPTION,
      },
      tags: TAGS,
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key, as made by "toolyard keys create".' },
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The same in a header of its own.' },
        },
      },
    },
    transform: ({ schema, url, route }) => ({ schema: documented(schema, route), url: url.replace('*', ':id') }),
  })
}

/** The documentation: as a document, and as a page that loads nothing from elsewhere. For everybody. */
export async function openApiRoutes(app: FastifyInstance): Promise<void> {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, scope: null }
  })
  app.get('/openapi.json', { schema: { summary: 'This documentation, for programs', tags: ['status'] } }, () =>
    app.swagger(),
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

/** What holds for all routes need not be written at each: who may use it, and how it fails. */
function documented(schema: RouteOptions['schema'], { config }: RouteOptions): NonNullable<RouteOptions['schema']> {
  const scope = config?.scope
  const needs = scope ? `Needs a key with the scope \`${scope}\`.` : 'Open to everybody.'
  const { description, response, ...rest } = schema ?? {}
  return {
    ...rest,
    description: description === undefined ? needs : `${description}\n\n${needs}`,
    security: scope ? [{ bearer: [] }, { apiKey: [] }] : [],
    response: { ...(response as object), ...(scope && { '4XX': PROBLEM }) },
  }
}
