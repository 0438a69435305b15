import { existsSync } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, FastifyReply, RouteOptions } from 'fastify'
import { opensPage, unknownPath } from '../http/hooks.ts'
import { HttpProblem, PROBLEM_TYPE } from '../http/problem.ts'
import { object } from '../http/route.ts'

/** The built web UI. The path is the same from the sources and from the package. */
const BUILT = fileURLToPath(new URL('../../../web/dist', import.meta.url))
/** The built docs site. */
const GUIDE = fileURLToPath(new URL('../../../site/dist', import.meta.url))
/** Its pages. */
const DOCS = fileURLToPath(new URL('../../../docs', import.meta.url))

/** The URLs of the web UI, which routes in the browser. */
const ADDRESSES = [
  '/',
  '/tool/:name',
  '/tools-testing',
  '/tools-testing/:thread',
  '/models',
  '/models/runs/:id',
  '/models/suites/:name',
  '/activity',
  '/activity/:part',
  '/activity/:part/:id',
  '/approvals',
  '/approvals/:id',
  '/settings',
  '/connect',
  '/setup',
  '/setup/:job',
  '/runs/:id',
]

/** The web UI loads everything from this server and has no inline code. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Images and audio of results are data.
  "img-src 'self' data:",
  'media-src data:',
  "font-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Toolyard: the web UI is not built</title>
<h1>The web UI is not built</h1>
<p>The server is running. To build the web UI, run <code>node scripts/setup.js start</code> in the folder of Toolyard and
reload this page. <code>npm start</code> builds it before it starts the server.</p>
<p>The API reference is at <a href="/docs">/docs</a>.</p>
</html>
`

/** Serves the web UI from the folder that it was built to. */
export async function pageRoutes(app: FastifyInstance, folder = BUILT): Promise<void> {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, scope: null }
  })
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers({ 'content-security-policy': POLICY, 'referrer-policy': 'same-origin' })
    done()
  })
  await app.register(fastifyStatic, {
    root: join(folder, 'assets'),
    prefix: '/assets/',
    index: false,
    preCompressed: true,
    cacheControl: false,
    dotfiles: 'ignore',
    // File names contain a hash, except for a few that index.html refers to.
    setHeaders: (reply, path) => {
      const caching = /-[\w-]{8}\.\w+(\.\w+)?$/.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache'
      reply.header('cache-control', caching)
    },
  })
  const isBuilt = () =>
    access(join(folder, 'index.html')).then(
      () => true,
      () => false,
    )
  const send = (reply: FastifyReply) => reply.sendFile('index.html', folder, { cacheControl: false })
  for (const address of ADDRESSES) {
    app.get(address, { schema: { hide: true } }, async (_request, reply) => {
      if (await isBuilt()) return send(reply)
      return reply.code(503).type('text/html; charset=utf-8').send(NOT_BUILT)
    })
  }
  // The web UI says that there is no such page.
  app.setNotFoundHandler(async (request, reply) => {
    reply.code(404)
    if (opensPage(request) && (await isBuilt())) return send(reply)
    return reply.type(PROBLEM_TYPE).send(JSON.stringify(unknownPath()))
  })
}

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
  { name: 'approvals', description: 'Calls that wait for approval' },
  { name: 'runs', description: 'Recorded runs' },
  { name: 'metrics', description: 'Metrics of calls and runs' },
  { name: 'audit', description: 'The audit log, and saved views of what happened' },
  { name: 'limits', description: 'Rate limits, budgets and circuit breakers' },
  { name: 'session', description: 'Sign-in for browsers' },
  { name: 'connections', description: 'Accounts of users at OAuth providers' },
  { name: 'keys', description: 'API keys, roles and tenants' },
  { name: 'setup', description: 'Changes of the configuration file' },
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

/** The docs site has style attributes, and no inline scripts. */
const GUIDE_POLICY = PAGE_POLICY.replace("connect-src 'self'", "font-src 'self'; connect-src 'self'")

const guideSource = (content: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Toolyard docs</title>
<p>These are the sources of the docs: <a href="/guide/index.md">all pages</a>. To build the site with search, run
<code>npm run docs</code> in the folder of Toolyard.</p>
${content}
</html>
`

/** A page of docs that are not built: Markdown with links that work. */
async function sourcePage(path: string): Promise<string | undefined> {
  const name = path.replace(/\.(?:html|md)$/, '') || 'index'
  // No dots: it can't leave the folder.
  if (!/^[\w/-]+$/.test(name)) return undefined
  const text = await readFile(join(DOCS, `${name}.md`), 'utf8').catch(() => undefined)
  const shown = text?.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
  const linked = shown?.replace(/\[([^\][]+)\]\(([^()\s]+)\)/g, '<a href="$2">$1</a>')
  return linked && guideSource(`<pre style="white-space: pre-wrap">${linked}</pre>`)
}

/** Serves the docs site from the folder that it was built to. Register it with the prefix `/guide`. */
export async function guideRoutes(app: FastifyInstance, { folder = GUIDE }: { folder?: string }): Promise<void> {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, scope: null }
  })
  app.addHook('onRequest', ({ url }, reply, done) => {
    reply.headers({ 'content-security-policy': GUIDE_POLICY, 'referrer-policy': 'same-origin' })
    // Otherwise the answer would depend on whether the site is built.
    if (url.includes('%00')) done(new HttpProblem(400, 'Bad Request', 'The path has a NUL character'))
    else done()
  })
  await app.register(fastifyStatic, {
    root: folder,
    extensions: ['html'],
    cacheControl: false,
    dotfiles: 'ignore',
    setHeaders: (reply, path) => {
      const hashed = /\.[\w-]{8}\.(?:lean\.)?\w+$/.test(path)
      reply.header('cache-control', hashed ? 'public, max-age=31536000, immutable' : 'no-cache')
    },
  })
  app.get('', { schema: { hide: true } }, (_request, reply) => reply.redirect('/guide/'))
  app.setNotFoundHandler(async ({ url }, reply) => {
    if (existsSync(join(folder, '404.html')))
      return reply.code(404).sendFile('404.html', folder, { cacheControl: false })
    const page = await sourcePage(url.slice('/guide/'.length).split('?', 1)[0] ?? '')
    reply.code(page === undefined ? 404 : 200).type('text/html; charset=utf-8')
    return reply.send(page ?? guideSource('<h1>There is no such page</h1>'))
  })
}

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
    transform: ({ schema, url, route }) => {
      const path = url.replace('*', ':id')
      return { schema: { operationId: operationId(route.method, path), ...documented(schema, route) }, url: path }
    },
  })
}

/** The API reference: the OpenAPI document and a web page. Both are public. */
export async function openApiRoutes(app: FastifyInstance): Promise<void> {
  /** Written once: anyone may ask for it. */
  let text: string | undefined
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, scope: null }
  })
  app.get(
    '/openapi.json',
    { schema: { summary: 'Returns this API reference as an OpenAPI document', tags: ['status'] } },
    (_request, reply) => {
      text ??= JSON.stringify(app.swagger())
      return reply.type('application/json; charset=utf-8').send(text)
    },
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

/** `GET /api/runs/:id` → `getApiRunsById`. */
function operationId(method: RouteOptions['method'], path: string): string {
  const words = path.split(/[/_.-]+/).filter((word) => word !== '')
  const named = words.map((word) => (word.startsWith(':') ? `By${capital(word.slice(1))}` : capital(word)))
  return `${String(method).toLowerCase()}${named.join('')}`
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/** Adds the scope and the error response to the schema of a route. */
function documented(schema: RouteOptions['schema'], { config }: RouteOptions): NonNullable<RouteOptions['schema']> {
  const scope = config?.scope
  const needs = scope ? `Needs an API key with the scope \`${[scope].flat().join('` or `')}\`.` : 'Public.'
  const { description, response, ...rest } = schema ?? {}
  return {
    ...rest,
    description: description === undefined ? needs : `${description}\n\n${needs}`,
    security: scope ? [{ bearer: [] }, { apiKey: [] }] : [],
    response: { ...(response as object), ...(scope && { '4XX': PROBLEM }) },
  }
}
