import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Clock, systemClock } from '../../../core/clock.ts'
import { ManualClock } from '../../../testing/stand-ins.ts'
import { AddressRules } from './address-rules.ts'
import { ask } from './fixtures/ask.ts'
import { guardedAgent, proxyFor } from './guarded-agent.ts'
import { RefusedAddress } from './network-rules.ts'

const target = (url: string) => {
  const { protocol, hostname, port } = new URL(url)
  return { protocol, hostname: hostname.replace(/^\[|\]$/g, ''), port }
}

describe('proxyFor', () => {
  const env = {
    HTTPS_PROXY: 'http://secure:3128',
    http_proxy: 'plain:8080',
    NO_PROXY: '.corp.example, other.example:8443',
  }
  test.each([
    ['https://api.example/', 'http://secure:3128/'],
    ['http://api.example/', 'http://plain:8080/'],
    ['https://x.corp.example/', undefined],
    ['https://corp.example/', undefined],
    ['https://notcorp.example/', 'http://secure:3128/'],
    ['https://other.example:8443/', undefined],
    ['https://other.example/', 'http://secure:3128/'],
    ['http://127.0.0.1:11434/', undefined],
    ['http://localhost/', undefined],
    ['http://localhost./', undefined],
    ['http://x.localhost../', undefined],
    ['http://[::1]/', undefined],
  ])('%s goes through %s', (url, proxy) => {
    expect(proxyFor(target(url), env)?.href).toBe(proxy)
  })

  test('without variables, or with NO_PROXY=*, there is none', () => {
    expect(proxyFor(target('https://api.example/'), {})).toBeUndefined()
    expect(proxyFor(target('https://api.example/'), { ...env, no_proxy: '*' })).toBeUndefined()
  })
})

/** A proxy that connects everything to one port of this machine, and what it was asked. */
async function startProxy(port: number, answer = '200 OK') {
  const asked: { readonly target: string | undefined; readonly authorization: string | undefined }[] = []
  const proxy = createServer()
  proxy.on('connect', (request: IncomingMessage, client: Duplex) => {
    asked.push({ target: request.url, authorization: request.headers['proxy-authorization'] })
    client.write(`HTTP/1.1 ${answer}\r\n\r\n`)
    if (!answer.startsWith('200')) return void client.end()
    const upstream = connect(port, '127.0.0.1')
    for (const end of [client, upstream]) end.on('error', () => {})
    upstream.pipe(client).pipe(upstream)
  })
  return { url: `127.0.0.1:${await listen(proxy)}`, asked }
}

async function listen(server: ReturnType<typeof createServer>): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function agentBehind(proxy: string, addresses: readonly string[] | Error, clock: Clock = systemClock) {
  const lookup = async () => {
    if (addresses instanceof Error) throw addresses
    return addresses
  }
  const agent = guardedAgent(new AddressRules(), { env: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy }, lookup, clock })
  onTestFinished(() => agent.destroy())
  return agent
}

describe('requests behind a proxy', () => {
  test('go through it by name, with its credentials, also if only the proxy can resolve the name', async () => {
    const port = await listen(createServer((_request, response) => response.end('hello')))
    const proxy = await startProxy(port)
    const noName = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    for (const addresses of [['93.184.215.14'], noName]) {
      const agent = agentBehind(`http://ada:secret%21@${proxy.url}`, addresses)
      expect(await ask(agent, new URL('http://api.example/x'))).toEqual({ status: 200, text: 'hello' })
    }
    const authorization = `Basic ${Buffer.from('ada:secret!').toString('base64')}`
    expect(proxy.asked).toEqual([
      { target: 'api.example:80', authorization },
      { target: 'api.example:80', authorization },
    ])
  })

  test('reach no private address', async () => {
    const proxy = await startProxy(1)
    const agent = agentBehind(proxy.url, ['10.0.0.1'])
    expect(await ask(agent, new URL('http://inside.example/'))).toBeInstanceOf(RefusedAddress)
    expect(await ask(agent, new URL('http://10.0.0.1/'))).toBeInstanceOf(RefusedAddress)
    expect(proxy.asked).toEqual([])
  })

  test.each(['localhost.', 'x.localhost', 'x.LOCALHOST..'])(
    'never go to %s, also if its name cannot be resolved',
    async (name) => {
      const proxy = await startProxy(1)
      const agent = agentBehind(proxy.url, Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }))
      expect(await ask(agent, new URL(`http://${name}:8080/`))).toBeInstanceOf(RefusedAddress)
      expect(proxy.asked).toEqual([])
    },
  )

  test('end after 10 seconds if the TLS handshake stalls, and the connection with them', async () => {
    const begun = Promise.withResolvers<Duplex>()
    const proxy = createServer()
    proxy.on('connect', (_request, client: Duplex) => {
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      client.once('data', () => begun.resolve(client))
    })
    const clock = new ManualClock()
    const agent = agentBehind(`127.0.0.1:${await listen(proxy)}`, ['93.184.215.14'], clock)
    const asked = ask(agent, new URL('https://api.example/'))
    const client = await begun.promise
    const closed = new Promise((resolve) => client.once('end', resolve).once('error', resolve))
    clock.advance(10_000)
    expect(await asked).toMatchObject({ message: 'The proxy timed out' })
    await closed
  })

  test('fail if the proxy refuses, or if the certificate is not that of the host', async () => {
    const refusing = await startProxy(1, '403 Forbidden')
    const refused = await ask(agentBehind(refusing.url, ['93.184.215.14']), new URL('http://api.example/'))
    expect(refused).toMatchObject({ message: 'The proxy answered with 403' })
    const port = await listen(createServer())
    const plain = await startProxy(port)
    const secure = await ask(agentBehind(plain.url, ['93.184.215.14']), new URL('https://api.example/'))
    expect(secure).toBeInstanceOf(Error)
    expect(plain.asked).toMatchObject([{ target: 'api.example:443' }])
  })
})
