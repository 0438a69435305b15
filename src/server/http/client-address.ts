import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import type { Installation } from '../../app/installation.ts'
import type { Config } from '../../config/config.ts'
import type { Clock } from '../../core/clock.ts'
import { FairPool } from '../../core/execution/fair-pool.ts'
import { writeLog } from '../../core/log.ts'
import {
  type Address,
  type AddressRange,
  isInRange,
  readAddress,
  readRange,
} from '../../kinds/http/network/address-rules.ts'
import { HttpProblem } from './problem.ts'

const PER_SECOND = 20
const BURST = 100
// Used as `maxSize`: `max` would reserve the memory at the start.
const MAX_ADDRESSES = 10_000
/** Providers give a customer at least this much of IPv6: limiting single addresses would limit nothing. */
const IPV6_PREFIX = 64

interface Bucket {
  /** Requests that the address may still make. */
  left: number
  /** When `left` was last updated, on the clock of the installation. */
  atMs: number
}

/** Limits the requests without a valid key, per client address. Requests with a valid key are never counted. */
export class UnknownCallers {
  readonly #clock: Clock
  readonly #proxies: TrustedProxies
  readonly #buckets = new LRUCache<string, Bucket>({ maxSize: MAX_ADDRESSES, sizeCalculation: () => 1 })

  constructor(installation: Pick<Installation, 'config' | 'clock'>, proxies = new TrustedProxies(installation)) {
    this.#clock = installation.clock
    this.#proxies = proxies
  }

  /** How many addresses are remembered. */
  get size(): number {
    return this.#buckets.size
  }

  /** The address of the client, or its IPv6 network. */
  addressOf(request: IncomingMessage): string {
    return addressKey(this.#proxies.clientAddress(request))
  }

  /** Counts a request. Throws the 429 if its address has sent too many. */
  count(request: IncomingMessage): void {
    this.check(request).left--
  }

  /** Throws the 429 if the address of a request has sent too many. Counts nothing. */
  check(request: IncomingMessage): Bucket {
    const key = this.addressOf(request)
    const now = this.#clock.now()
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      bucket = { left: BURST, atMs: now }
      this.#buckets.set(key, bucket)
    }
    bucket.left = Math.min(BURST, bucket.left + ((now - bucket.atMs) * PER_SECOND) / 1_000)
    bucket.atMs = now
    if (bucket.left < 1) throw tooMany(Math.ceil((1 - bucket.left) / PER_SECOND))
    return bucket
  }
}

/** The proxies in `server.trusted_proxies`, whose headers about the client are believed. */
export class TrustedProxies {
  readonly #installation: Pick<Installation, 'config'>
  #read: { readonly of: Config; readonly ranges: readonly AddressRange[] } | undefined = undefined

  constructor(installation: Pick<Installation, 'config'>) {
    this.#installation = installation
  }

  /**
   * The address of the client: of the connection, or, behind trusted proxies, the right-most address of X-Forwarded-For
   * that isn't a trusted proxy. Clients can write anything to the left of it.
   */
  clientAddress({ socket, headers }: IncomingMessage): Address | undefined {
    let client = withoutZone(socket.remoteAddress)
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
    while (client !== undefined && this.#has(client)) {
      const before = readAddress(withoutPort(forwarded.pop()?.trim() ?? ''))
      if (before === undefined) break
      client = before
    }
    return client
  }

  /** Whether the client used https: a trusted proxy says so, or the page that the request comes from was loaded with it. */
  isHttps({ socket, headers }: IncomingMessage): boolean {
    if (headers.origin?.startsWith('https://')) return true
    const protocol = [headers['x-forwarded-proto'] ?? []].flat().join(',')
    const proxy = withoutZone(socket.remoteAddress)
    return /(?:^|,)\s*https\s*(?:,|$)/i.test(protocol) && proxy !== undefined && this.#has(proxy)
  }

  #has(address: Address): boolean {
    const { config } = this.#installation
    // A reload may change them.
    if (this.#read?.of !== config) {
      const entries = config.server?.trusted_proxies ?? []
      this.#read = { of: config, ranges: entries.map((entry) => readRange(entry, 'server.trusted_proxies')) }
    }
    return this.#read.ranges.some((range) => isInRange(address, range))
  }
}

/** The address of a connection on a link-local network names the interface too: `fe80::1%eth0`. */
const withoutZone = (address = ''): Address | undefined => readAddress(address.split('%', 1)[0] as string)

/** Some proxies append the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  if (entry.startsWith('[')) return entry.slice(1, entry.indexOf(']'))
  const [address = '', port, ...more] = entry.split(':')
  return port !== undefined && more.length === 0 ? address : entry
}

/** Clients of one IPv6 network share a limit. So do connections that are gone already and have no address. */
function addressKey(address: Address | undefined): string {
  if (address === undefined) return 'unknown'
  if (address instanceof ipaddr.IPv4) return address.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${IPV6_PREFIX}`)}/${IPV6_PREFIX}`
}

const tooMany = (seconds: number): HttpProblem =>
  new HttpProblem(
    429,
    'Too many requests without a valid API key',
    `an address may send ${PER_SECOND} a second; try again in ${seconds} s, or send a valid key`,
    { 'retry-after': String(seconds) },
  )

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

const MAX_UNANSWERED = 32

/**
 * Closes a connection with too many unanswered requests. Node.js hands over all requests of one read at once, so thousands
 * of small ones would block the process. Browsers and other clients wait for each answer.
 */
export function limitUnanswered(listener: RequestListener): RequestListener {
  const unanswered = new WeakMap<Socket, number>()
  return (request, response) => {
    const { socket } = request
    const count = unanswered.get(socket) ?? 0
    if (count >= MAX_UNANSWERED) socket.destroy()
    if (socket.destroyed) return
    unanswered.set(socket, count + 1)
    response.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1))
    listener(request, response)
  }
}
