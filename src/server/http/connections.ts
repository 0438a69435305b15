import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Installation } from '../../app/installation.ts'
import { FairPool } from '../../core/execution/fair-pool.ts'
import { writeLog } from '../../core/log.ts'
import { isInRange, readRange } from '../../kinds/http/network/address-rules.ts'
import { addressKey, withoutZone } from './client-address.ts'

const MAX_CONNECTIONS = 10_000
const PER_ADDRESS = 1_000

/**
 * Limits the connections of one client address, so that no client takes those of all others. Trusted proxies are
 * exempt: behind them are many clients.
 */
export function limitConnections(server: Server, { config, log }: Pick<Installation, 'config' | 'log'>): void {
  const share = config.server?.connections_per_address ?? PER_ADDRESS
  const trusted = (config.server?.trusted_proxies ?? []).map((entry) => readRange(entry, 'server.trusted_proxies'))
  const places = new FairPool<{ readonly tenant: string }>({ size: MAX_CONNECTIONS, share, queue: 0 })
  const warned = new Set<string>()
  server.maxConnections = MAX_CONNECTIONS
  server.on('connection', (socket: Socket) => {
    const client = withoutZone(socket.remoteAddress)
    if (client !== undefined && trusted.some((range) => isInRange(client, range))) return
    const address = addressKey(client)
    if (places.enter(address)) {
      socket.once('close', () => {
        places.leave(address)
        warned.delete(address)
      })
      return
    }
    socket.destroy()
    // Logged once until a connection of the address closes.
    if (warned.has(address)) return
    warned.add(address)
    writeLog(
      log,
      'warn',
      { address, connections: share },
      'A client has too many connections: new ones are closed. See server.connections_per_address',
    )
  })
}
