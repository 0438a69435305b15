import { fastify, type RouteOptions } from 'fastify'
import { expect, test } from 'vitest'
import { addHooks, KnownRoutes } from './hooks.ts'

const handler = () => {}
const route = (url: string, method: string | string[], config: RouteOptions['config'] = {}): RouteOptions => ({
  url,
  method,
  config,
  handler,
})

test('finds the methods of a path with parameters', () => {
  const routes = new KnownRoutes()
  routes.add(route('/api/jobs/:id', 'GET', { scope: 'call' }))
  routes.add(route('/api/jobs/:id', ['DELETE', 'HEAD']))
  routes.add(route('/api/jobs', 'GET'))
  routes.add(route('/docs/static/*', 'GET', { scope: null }))
  routes.add(route('/openapi.json', 'GET'))
  expect(routes.methodsOf('/api/jobs/7')).toEqual(['DELETE', 'GET', 'HEAD'])
  expect(routes.methodsOf('/api/jobs')).toEqual(['GET'])
  expect(routes.methodsOf('/docs/static/a/b.css')).toEqual(['GET'])
  for (const unknown of ['/api/jobs/7/8', '/api/jobs/', '/openapixjson', '/', '']) {
    expect(routes.methodsOf(unknown)).toEqual([])
  }
  expect(routes.all().slice(0, 3)).toEqual([
    { method: 'GET', url: '/api/jobs/:id', scope: 'call' },
    { method: 'DELETE', url: '/api/jobs/:id', scope: undefined },
    { method: 'HEAD', url: '/api/jobs/:id', scope: undefined },
  ])
})

test('the server does not start with a route that has no scope', async () => {
  const app = fastify()
  for (const name of ['installation', 'traffic', 'authenticator'] as const) app.decorate(name, {} as never)
  addHooks(app)
  app.get('/public', { config: { scope: null } }, handler)
  app.get('/forgotten', handler)
  await expect(app.ready()).rejects.toThrow('The route GET /forgotten must name its scope, or null')
})
