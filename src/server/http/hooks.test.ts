import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { fastify, type RouteOptions } from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'
import { addHooks, KnownRoutes, Step } from './hooks.ts'

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

test('a stream that fails right after it was sent ends its response, and not the process', async () => {
  const app = fastify()
  const parts = { installation: { config: {} }, traffic: { count() {} }, authenticator: { checkOrigin() {} } }
  for (const [name, part] of Object.entries(parts)) app.decorate(name, part)
  addHooks(app)
  app.get('/file', { config: { scope: null } }, async () => {
    const stream = new Readable({ read() {} })
    setImmediate(() => stream.destroy(new Error('gone')))
    return stream
  })
  onTestFinished(() => app.close())
  expect((await app.inject('/file')).statusCode).toBe(500)
})

test('a step runs what was added before it in their order, and what its runs add in the next one', async () => {
  const step = new Step(() => 0)
  const ran: string[] = []
  step.add(() => {
    ran.push('first')
    step.add(() => ran.push('next'))
  })
  step.add(() => ran.push('second'))
  expect(ran).toEqual([])
  await turn()
  expect(ran).toEqual(['first', 'second'])
  await turn()
  expect(ran).toEqual(['first', 'second', 'next'])
})

test('a step that takes long continues in the next turn, before what was added meanwhile', async () => {
  let now = 0
  const step = new Step(() => now)
  const ran: string[] = []
  const slow = (name: string) => () => {
    now += 5
    ran.push(name)
  }
  step.add(() => step.add(slow('added')))
  for (const name of ['one', 'two']) step.add(slow(name))
  await turn()
  expect(ran).toEqual(['one'])
  await turn()
  expect(ran).toEqual(['one', 'two'])
  await turn()
  expect(ran).toEqual(['one', 'two', 'added'])
})

test('an error in a step stops none of the others, and is thrown', async () => {
  const step = new Step()
  const ran = vi.fn()
  const caught = new Promise((resolve) => process.once('uncaughtExceptionMonitor', resolve))
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.once('uncaughtException', () => {})
  step.add(() => {
    throw new Error('of one request')
  })
  step.add(ran)
  expect(await caught).toEqual(new Error('of one request'))
  for (const listener of listeners) process.on('uncaughtException', listener)
  expect(ran).toHaveBeenCalledOnce()
})
