import { createServer, type Socket } from 'node:net'
import { Aedes } from 'aedes'

/** A real MQTT broker in this process, on loopback. */
export interface EmbeddedBroker {
  readonly url: string
  readonly port: number
  /** Ends it and every connection. */
  close(): Promise<void>
}

/** Starts a broker on this port, or on a free one. */
export async function startBroker(port = 0): Promise<EmbeddedBroker> {
  const aedes = await Aedes.createBroker()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    aedes.handle(socket)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const address = server.address()
  const taken = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `mqtt://127.0.0.1:${taken}`,
    port: taken,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => aedes.close(() => resolve()))
      await closed
    },
  }
}
