import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { fastify, type RouteOptions } from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Traffic } from './context.ts'
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

/** An app with the hooks, for public routes. */
function openApp() {
  const app = fastify()
  const traffic = new Traffic({ isValid: () => true })
  const parts = { installation: { config: {} }, traffic, authenticator: { checkOrigin() {} } }
  for (const [name, part] of Object.entries(parts)) app.decorate(name, part as never)
  addHooks(app)
  onTestFinished(() => app.close())
  return { app, traffic }
}

test('a header that is not valid becomes an error of its request, and not of the process', async () => {
  const { app, traffic } = openApp()
  app.setErrorHandler((error, _request, reply) => {
    reply.removeHeader('x-note')
    reply.code(500).send(String(error))
  })
  app.get('/note', { config: { scope: null } }, async (_request, reply) => {
    reply.header('x-note', 'one\ntwo')
    return 'text'
  })
  const { statusCode, body } = await app.inject('/note')
  expect({ statusCode, body }).toEqual({ statusCode: 500, body: expect.stringContaining('x-note') })
  expect(traffic.busy).toBe(false)
})

test('a handler does not run if its client disconnects while others have their turn', async () => {
  const { app } = openApp()
  const sockets: Socket[] = []
  const clients: Socket[] = []
  const ran: string[] = []
  app.server.on('connection', (socket) => sockets.push(socket))
  app.post('/:name', { config: { scope: null } }, async ({ params }) => {
    ran.push((params as { readonly name: string }).name)
    sockets.find(({ remotePort }) => remotePort === clients[1]?.localPort)?.destroy()
    const end = performance.now() + 10
    while (performance.now() < end);
    return 'text'
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  clients.push(connect(port, '127.0.0.1'), connect(port, '127.0.0.1'))
  for (const client of clients) client.on('error', () => {})
  await expect.poll(() => sockets.length).toBe(2)
  const done = Promise.all([once(clients[0] as Socket, 'data'), once(clients[1] as Socket, 'close')])
  for (const [at, client] of clients.entries())
    client.write(`POST /${at} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n`)
  await done
  expect(ran).toEqual(['0'])
})

test('a stream that fails right after it was sent ends its response, and not the process', async () => {
  const { app } = openApp()
  app.get('/file', { config: { scope: null } }, async () => {
    const stream = new Readable({ read() {} })
    setImmediate(() => stream.destroy(new Error('gone')))
    return stream
  })
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

test('each run of a step has its own context', async () => {
  const step = new Step(() => 0)
  const storage = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  for (const name of ['one', 'two']) storage.run(name, () => step.add(() => seen.push(storage.getStore())))
  await turn()
  expect(seen).toEqual(['one', 'two'])
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
