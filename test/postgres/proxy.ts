import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Stands between a client and the database, so that a test can take the database away and bring it back. */
export interface Proxy {
  /** The address of the database through the proxy. */
  readonly url: string
  /** Breaks all connections, and takes no new ones until `restore`. */
  cut(): void
  /** Lets nothing through any more, without a word, until `restore`. */
  freeze(): void
  restore(): void
  stop(): Promise<void>
}

export async function startProxy(target: string): Promise<Proxy> {
  const { port, hostname } = new URL(target)
  const sockets = new Set<Socket>()
  let state: 'open' | 'cut' | 'frozen' = 'open'
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    keep(client)
    if (state === 'cut') client.destroy()
    if (state !== 'open') return
    const database = keep(connect(Number(port), hostname))
    const pass = (from: Socket, to: Socket): void => {
      from.on('data', (data) => state === 'open' && to.write(data))
      from.on('close', () => to.destroy())
    }
    pass(client, database)
    pass(database, client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.port = String((server.address() as AddressInfo).port)
  const drop = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    cut() {
      state = 'cut'
      drop()
    },
    freeze() {
      state = 'frozen'
    },
    restore() {
      drop()
      state = 'open'
    },
    async stop() {
      drop()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
