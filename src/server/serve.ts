import type { AddressInfo } from 'node:net'
import type { Installation } from '../config/installation.ts'
import { Upkeep } from '../knowledge/collections/upkeep.ts'
import type { Prometheus } from '../telemetry/prometheus.ts'
import { closeGracefully } from './close-gracefully.ts'
import { createApp } from './create-app.ts'
import { isLoopbackAddress } from './loopback.ts'
import { ServeError } from './serve-error.ts'

export interface ServeOptions {
  readonly installation: Installation
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
  readonly prometheus: Prometheus
  /** Of this package. */
  readonly version: string
}

/** A server that listens. */
export interface HttpService {
  readonly url: string
  /** Ends it, running calls first; the installation stays open. */
  close(): Promise<void>
}

const SHUTDOWN_MS = 10_000

/** Serves an installation over HTTP. Where there are no keys, only to this machine. */
export async function serve({ installation, host, port, ...rest }: ServeOptions): Promise<HttpService> {
  const { callers, log } = installation
  const local = callers.size === 0
  if (local && !isLoopbackAddress(host)) throw unguarded(host)
  const app = await createApp(installation, { local, ...rest })
  try {
    await app.listen({ host, port })
  } catch (error) {
    await closeGracefully(app, 0)
    throw refused(error as NodeJS.ErrnoException, host, port)
  }
  if (local) log.warn({ host }, 'There are no API keys: requests from this machine are answered without one')
  const upkeep = new Upkeep({
    collections: () => installation.manager.getCollections(),
    clock: installation.clock,
    log,
  })
  const stopListening = installation.onReload(() => upkeep.again())
  let closed: Promise<void> | undefined
  const close = async () => {
    stopListening()
    const upkeepEnded = upkeep.end()
    await closeGracefully(app, installation.config.server?.shutdown_ms ?? SHUTDOWN_MS)
    await upkeepEnded
  }
  return {
    url: urlOf(app.server.address() as AddressInfo),
    close() {
      closed ??= close()
      return closed
    },
  }
}

const urlOf = ({ address, port, family }: AddressInfo): string =>
  `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`

const unguarded = (host: string): ServeError =>
  new ServeError(
    `Without API keys the server can be bound to this machine only, not to '${host}': make a key first, with "npx toolyard keys create"`,
  )

function refused(error: NodeJS.ErrnoException, host: string, port: number): unknown {
  if (error.code === 'EADDRINUSE') return new ServeError(`Port ${port} is taken: name another, or 0 for any`)
  if (error.code === 'EACCES') return new ServeError(`Port ${port} may not be used by this user: name one above 1023`)
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new ServeError(`This machine has no address '${host}' to listen at`)
  }
  return error
}
