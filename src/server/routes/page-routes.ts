import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

/** The built web UI. The path is the same from the sources and from the package. */
const BUILT = fileURLToPath(new URL('../../../web/dist', import.meta.url))

/** The URLs of the web UI, which routes in the browser. */
const ADDRESSES = [
  '/',
  '/tool/:name',
  '/tools-testing',
  '/models',
  '/models/runs/:id',
  '/activity',
  '/activity/:part',
  '/settings',
  '/runs/:id',
]

/** The web UI loads everything from this server and has no inline code. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
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
  for (const address of ADDRESSES) {
    app.get(address, { schema: { hide: true } }, async (_request, reply) => {
      const built = await access(join(folder, 'index.html')).then(
        () => true,
        () => false,
      )
      if (!built) return reply.code(503).type('text/html; charset=utf-8').send(NOT_BUILT)
      return reply.sendFile('index.html', folder, { cacheControl: false })
    })
  }
}
