import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

/** Where the set-up builds the page; the same place as seen from the sources and from what is shipped. */
const BUILT = fileURLToPath(new URL('../../../web/dist', import.meta.url))

/** The addresses of the page. What each shows is decided in the browser. */
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

/** Everything that the page loads comes from here, and none of it stands in the page itself. */
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
<title>Toolyard: the page is not built</title>
<h1>The page is not built</h1>
<p>The server works, and this is all that it lacks. In the folder of Toolyard, <code>npm start</code> builds the page and serves;
<code>node scripts/setup.js start</code> builds it for a server that runs already: load this again afterwards.</p>
<p>What programs can ask is at <a href="/docs">/docs</a>.</p>
</html>
`

/** Serves the page. `folder` is where it was built. */
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
    // Names carry a hash of what is in them, but for the few that the first page names itself.
    setHeaders: (reply, path) => {
      const kept = /-[\w-]{8}\.\w+(\.\w+)?$/.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache'
      reply.header('cache-control', kept)
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
