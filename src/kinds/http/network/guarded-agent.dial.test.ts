import { once } from 'node:events'
import { createServer as createPlainServer, type Server, type Socket } from 'node:net'
import { createServer, getCACertificates, setDefaultCACertificates, TLSSocket, type TlsOptions } from 'node:tls'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { AddressRules } from './address-rules.ts'
import { ask } from './fixtures/ask.ts'
import { selfSigned } from './fixtures/self-signed.ts'
import { type DialTarget, guardedAgent, socketDial } from './guarded-agent.ts'

async function listen(server: Server): Promise<string> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return typeof address === 'object' && address !== null ? String(address.port) : ''
}

const NAME = 'api.example.com'

/** A server that answers over TLS with the name that it was asked for. */
async function secureServer(options: TlsOptions): Promise<string> {
  const server = createServer({ ...options, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
    socket.on('error', () => undefined)
    const text = `${socket.servername} ${socket.alpnProtocol}`
    socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`))
  })
  server.on('tlsClientError', () => undefined)
  return listen(server)
}

function trust(cert: string): void {
  const before = getCACertificates('default')
  onTestFinished(() => setDefaultCACertificates(before))
  setDefaultCACertificates([cert])
}

const target = (port: string, more: Partial<DialTarget> = {}): DialTarget => ({
  address: '127.0.0.1',
  port,
  protocol: 'https:',
  servername: NAME,
  hasNext: false,
  ...more,
})

describe('over TLS', () => {
  test('an agent dials the checked address and asks for the name, by HTTP/1.1', async () => {
    const pair = selfSigned(NAME)
    trust(pair.cert)
    const port = await secureServer(pair)
    const agent = guardedAgent(new AddressRules(['127.0.0.1']), { lookup: async () => ['127.0.0.1'] })
    onTestFinished(() => agent.destroy())
    const answer = await ask(agent, new URL(`https://${NAME}:${port}/`))
    expect(answer).toEqual({ status: 200, text: `${NAME} http/1.1` })
  })

  test('a certificate for another name is not taken', async () => {
    const pair = selfSigned('other.example.com')
    trust(pair.cert)
    const dialled = socketDial()(target(await secureServer(pair)))
    await expect(dialled).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  })

  test('a certificate for a name does not serve for an address', async () => {
    const pair = selfSigned(NAME)
    trust(pair.cert)
    const { servername: _, ...nameless } = target(await secureServer(pair))
    await expect(socketDial()(nameless)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  })

  test('rejects an untrusted certificate even if the environment disables verification', async () => {
    // Node warns of it, rightly.
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    onTestFinished(() => {
      warning.mockRestore()
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
    })
    const port = await secureServer(selfSigned(NAME))
    await expect(socketDial()(target(port))).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  })

  test('tries the next address if a server does not answer', async () => {
    const port = await listen(createPlainServer())
    const dialled = socketDial()(target(port, { hasNext: true }))
    await expect(dialled).rejects.toMatchObject({
      code: 'UND_ERR_CONNECT_TIMEOUT',
      message: expect.stringContaining('timeout: 1000ms'),
    })
  })
})

test('a plain connection goes to the address, whatever the name', async () => {
  const port = await listen(createPlainServer())
  const socket = await socketDial()(target(port, { protocol: 'http:' }))
  onTestFinished(() => {
    socket.destroy()
  })
  expect(socket).not.toBeInstanceOf(TLSSocket)
  expect([socket.remoteAddress, String(socket.remotePort)]).toEqual(['127.0.0.1', port])
})

test('a closed port is an error with its code', async () => {
  const server = createPlainServer()
  const port = await listen(server)
  server.close()
  await expect(socketDial()(target(port, { protocol: 'http:' }))).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})
