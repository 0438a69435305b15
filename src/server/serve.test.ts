import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Installation } from '../app/installation.ts'
import type { AuditPage } from '../core/storage/ledger.ts'
import { isolated, ToolHandlers } from '../kinds/tool-handlers.ts'
import { Prometheus } from '../telemetry/prometheus.ts'
import { captureLog } from '../testing/stand-ins.ts'
import { newStoredKey } from './fixtures/new-stored-key.ts'
import { openTestServer } from './fixtures/open-server.ts'
import { serve as serveTools } from './index.ts'
import { ServeError, serve } from './serve.ts'

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-serve-'))
  const log = captureLog()
  const installation = await Installation.open({ config: {}, log, env: { TOOLYARD_DATA: folder } })
  onTestFinished(async () => {
    await installation.close()
    await rm(folder, { recursive: true, force: true })
  })
  const start = async (host = '127.0.0.1', port = 0) => {
    const server = await serve({ installation, host, port, prometheus: new Prometheus(), version: '1.2.3' })
    onTestFinished(() => server.close())
    return server
  }
  return { installation, log, start }
}

describe('serve', () => {
  test('listens at a URL, and can be closed more than once', async () => {
    const { start, log } = await open()
    const server = await start()
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await fetch(`${server.url}/api/tools/list`)).status).toBe(200)
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('There are no API keys') }),
    )
    const { rows } = (await (await fetch(`${server.url}/audit?tenant=*`)).json()) as AuditPage
    expect(rows).toMatchObject([{ event: 'config.loaded', tenant: '*', params_hash: expect.any(String) }])
    await Promise.all([server.close(), server.close()])
    await expect(fetch(`${server.url}/health`)).rejects.toThrow()
  })

  test('keeps the documentation in the collections of the configuration in use', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-serve-'))
    const file = join(folder, 'toolyard.config.json')
    await writeFile(file, '{}')
    const installation = await Installation.open({ file, log: captureLog(), env: { TOOLYARD_DATA: folder } })
    const server = await serve({ installation, host: '127.0.0.1', port: 0, prometheus: new Prometheus(), version: '1' })
    onTestFinished(async () => {
      await server.close()
      await installation.close()
      await rm(folder, { recursive: true, force: true })
    })
    await installation.reload()
    const asked = vi.spyOn(installation.manager, 'getCollections')
    await vi.waitFor(() => expect(asked).toHaveBeenCalled())
  })

  test.each(['0.0.0.0', '::', '192.168.1.1', 'example.com', ''])(
    'without keys it is not bound to %j, and says how to make one',
    async (host) => {
      const { start } = await open()
      const starting = start(host)
      await expect(starting).rejects.toThrow(ServeError)
      await expect(starting).rejects.toThrow('npx toolyard keys create')
    },
  )

  test('with a key it may be bound to any address, and then needs one', async () => {
    const { start, installation } = await open()
    const { text, stored } = newStoredKey('acme')
    await installation.storage.keys.create(stored)
    await installation.callers.load(installation.storage.keys)
    const server = await start('0.0.0.0')
    const url = server.url.replace('0.0.0.0', '127.0.0.1')
    expect((await fetch(`${url}/api/tools/list`)).status).toBe(401)
    expect((await fetch(`${url}/api/tools/list`, { headers: { 'x-api-key': text } })).status).toBe(200)
  })

  test('says that a port is already in use', async () => {
    const { start } = await open()
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void taken.close())
    const { port } = taken.address() as { port: number }
    await expect(start('127.0.0.1', port)).rejects.toThrow(
      `Port ${port} is already in use. Choose another port, or 0 for any free one`,
    )
  })
})

test('an isolated handler has no rights on a server without keys, and reads no .env file beside its module', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-handler-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, '.env'), 'SECRET=1')
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
  await writeFile(join(folder, 'word.js'), "export const word = 'loaded'")
  await writeFile(
    join(folder, 'probe.js'),
    `import { readFileSync } from 'node:fs'
    import { word } from './word.js'
    import { connect, createServer } from 'node:net'
    const ended = (socket) => new Promise((resolve) => socket.once('close', resolve).once('error', resolve))
    /** Leaves rows of closed connections from the same port behind, then asks from another address with that port. */
    async function decoyed(port) {
      const request = 'GET /api/tools/list HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\n\\r\\n'
      const first = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.10' })
      await new Promise((resolve) => first.once('connect', resolve))
      const { localPort } = first
      first.destroy()
      await ended(first)
      const second = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.99', localPort })
      let text = ''
      second.on('data', (chunk) => { text += chunk })
      second.on('connect', () => second.write(request))
      await ended(second)
      return text.slice(9, 12)
    }
    export async function probe({ url, outsider }) {
      const statusOf = async (path) => (await fetch(url + path)).status
      let read = 'read'
      try { readFileSync(new URL('.env', import.meta.url)) } catch (error) { read = error.code }
      const list = await statusOf('/api/tools/list')
      const decoy = await decoyed(Number(new URL(url).port))
      // While it listens on a Unix socket, a connection might be on its way through it.
      const unix = createServer().listen('\\0toolyard-test')
      await new Promise((resolve) => unix.once('listening', resolve))
      const peer = connect('\\0toolyard-test')
      await new Promise((resolve) => peer.once('connect', resolve))
      const outside = await fetch(outsider + '/ask').then((answer) => answer.text())
      peer.destroy()
      unix.close()
      return { word, read, list, decoy, outside, health: await statusOf('/health') }
    }`,
  )
  const handlers = new ToolHandlers()
  handlers.register('probe', isolated(pathToFileURL(join(folder, 'probe.js')), 'probe'))
  const registry = [
    {
      name: 'probe',
      description: 'Tries what it must not.',
      parameters: { type: 'object' },
      implementation: { type: 'internal', handler: 'probe', network: true },
    },
  ]
  const server = await openTestServer({ tools: { enabled: true, registry } }, { local: true, handlers })
  onTestFinished(() => server.close())
  expect((await fetch(`${server.url}/api/tools/list`)).status).toBe(200)
  const ask = () =>
    new Promise<number | undefined>((resolve, reject) => {
      request(`${server.url}/api/tools/list`, { agent: false }, (answer) => resolve(answer.resume().statusCode))
        .once('error', reject)
        .end()
    })
  const outsider = createHttpServer(async (_request, response) => response.end(String(await ask())))
  outsider.listen(0, '127.0.0.1')
  await once(outsider, 'listening')
  onTestFinished(() => void outsider.close().closeAllConnections())
  const params = { url: server.url, outsider: `http://127.0.0.1:${(outsider.address() as AddressInfo).port}` }
  const result = await server.installation.manager.getExecutor().execute('probe', params)
  // Only Linux tells whose connection it is.
  const list = process.platform === 'linux' ? 401 : 200
  const decoy = String(list)
  const expected = { word: 'loaded', read: 'ERR_ACCESS_DENIED', list, decoy, outside: decoy, health: 200 }
  expect(result).toMatchObject({ result: expected })
  await expect.poll(ask).toBe(200)
})

test('serve of the library refuses options that do not exist', async () => {
  await expect(serveTools({ prot: 4748 } as object)).rejects.toThrow(
    'serve: unknown option "prot". Did you mean "port"?',
  )
})
