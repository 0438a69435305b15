import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { type Caller, LOCAL_CALLER, type Scope } from '../../app/callers.ts'
import type { Installation } from '../../app/installation.ts'
import type { Config } from '../../config/config.ts'
import {
  type Address,
  type AddressRange,
  isInRange,
  readAddress,
  readRange,
} from '../../kinds/http/network/address-rules.ts'
import { HttpProblem } from './problem.ts'

const LOOPBACK = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\])(?::\d{1,5})?$/i

/** Whether a Host header names this machine: localhost, *.localhost, 127.0.0.0/8 or [::1], with any port. */
const isLoopbackHost = (host: string): boolean => LOOPBACK.test(host)

/** Whether a server that listens on this address is reachable from this machine only. */
export const isLoopbackAddress = (address: string): boolean =>
  isLoopbackHost(address.includes(':') ? `[${address}]` : address)

const PER_SECOND = 20
const BURST = 100
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
  readonly #installation: Pick<Installation, 'config' | 'clock'>
  readonly #buckets = new LRUCache<string, Bucket>({ max: MAX_ADDRESSES })
  #proxies: { readonly of: Config; readonly ranges: readonly AddressRange[] } | undefined = undefined

  constructor(installation: Pick<Installation, 'config' | 'clock'>) {
    this.#installation = installation
  }

  /** How many addresses are remembered. */
  get size(): number {
    return this.#buckets.size
  }

  /** Counts a request. Throws the 429 if its address has sent too many. */
  count(request: IncomingMessage): void {
    const key = addressKey(clientAddress(request, this.#trusted()))
    const now = this.#installation.clock.now()
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      bucket = { left: BURST, atMs: now }
      this.#buckets.set(key, bucket)
    }
    bucket.left = Math.min(BURST, bucket.left + ((now - bucket.atMs) * PER_SECOND) / 1_000)
    bucket.atMs = now
    if (bucket.left < 1) throw tooMany(Math.ceil((1 - bucket.left) / PER_SECOND))
    bucket.left--
  }

  /** A reload may change the trusted proxies. */
  #trusted(): readonly AddressRange[] {
    const { config } = this.#installation
    if (this.#proxies?.of !== config) {
      const entries = config.server?.trusted_proxies ?? []
      this.#proxies = { of: config, ranges: entries.map((entry) => readRange(entry, 'server.trusted_proxies')) }
    }
    return this.#proxies.ranges
  }
}

/**
 * The address of the client: of the connection, or, behind trusted proxies, the right-most address of X-Forwarded-For
 * that isn't a trusted proxy. Clients can write anything to the left of it.
 */
function clientAddress({ socket, headers }: IncomingMessage, trusted: readonly AddressRange[]): Address | undefined {
  let client = withoutZone(socket.remoteAddress)
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
  const isTrusted = (address: Address) => trusted.some((range) => isInRange(address, range))
  while (client !== undefined && isTrusted(client)) {
    const before = readAddress(withoutPort(forwarded.pop()?.trim() ?? ''))
    if (before === undefined) break
    client = before
  }
  return client
}

/** The address of a connection on a link-local network names the interface too: `fe80::1%eth0`. */
export const withoutZone = (address = ''): Address | undefined => readAddress(address.split('%', 1)[0] as string)

/** Some proxies append the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  if (entry.startsWith('[')) return entry.slice(1, entry.indexOf(']'))
  const [address = '', port, ...more] = entry.split(':')
  return port !== undefined && more.length === 0 ? address : entry
}

/** Clients of one IPv6 network share a limit. So do connections that are gone already and have no address. */
export function addressKey(address: Address | undefined): string {
  if (address === undefined) return 'unknown'
  if (address instanceof ipaddr.IPv4) return address.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${address}/${IPV6_PREFIX}`).toString()
}

const tooMany = (seconds: number): HttpProblem =>
  new HttpProblem(
    429,
    'Too many requests without a valid API key',
    `an address may send ${PER_SECOND} a second; try again in ${seconds} s, or send a valid key`,
    { 'retry-after': String(seconds) },
  )

const NAME = 'toolyard_key'
const COOKIE_SECONDS = 30 * 24 * 60 * 60
const FOUND = new RegExp(`(?:^|;\\s*)${NAME}=([^;\\s]+)`)

/** The key in the session cookie. */
const keyInCookie = ({ cookie }: IncomingHttpHeaders): string | undefined =>
  cookie === undefined ? undefined : FOUND.exec(cookie)?.[1]

/** Set-Cookie for a sign-in. Scripts can't read the cookie, and other sites can't send it. */
export const cookieWith = (key: string, { origin }: IncomingHttpHeaders): string =>
  [`${NAME}=${key}`, `Max-Age=${COOKIE_SECONDS}`, ...ATTRIBUTES, ...secure(origin)].join('; ')

/** Set-Cookie for a sign-out. */
export const emptyCookie = ({ origin }: IncomingHttpHeaders): string =>
  [`${NAME}=`, 'Max-Age=0', ...ATTRIBUTES, ...secure(origin)].join('; ')

const ATTRIBUTES = ['Path=/', 'HttpOnly', 'SameSite=Strict']

/** The server sees plain HTTP behind a TLS proxy, but the origin of the page tells. */
const secure = (origin: string | undefined): string[] => (origin?.startsWith('https://') ? ['Secure'] : [])

/**
 * Whether a request comes from this server's own page. A cookie alone proves nothing: browsers also send it with
 * requests from other ports of the same host.
 */
export function isOfOwnPage({ host = '', origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (origin !== undefined) return origin.toLowerCase().replace(/^https?:\/\//, '') === host.toLowerCase()
  return site === undefined || site === 'same-origin' || site === 'none'
}

/** Whether requests from this machine need no key. The first key ends `until-first-key` for good. */
export type LocalAccess = 'never' | 'until-first-key' | 'always'

const PROXY_HEADER = /^(?:x-forwarded-.*|forwarded|via)$/

const USUAL = 'Bearer '
const BEARER = /^Bearer +(\S+) *$/i

/** Identifies the caller of a request and checks its scope. */
export class Authenticator {
  readonly #installation: Installation
  readonly #unknown: UnknownCallers
  #local: LocalAccess

  constructor(installation: Installation, local: LocalAccess) {
    this.#installation = installation
    this.#unknown = new UnknownCallers(installation)
    this.#local = local
  }

  /** Whether requests need no key. */
  get local(): boolean {
    if (this.#local === 'until-first-key' && this.#installation.callers.keyed) {
      this.#local = 'never'
      this.#installation.log.info({}, 'The first API key exists: requests without a key are refused from now on')
    }
    return this.#local !== 'never'
  }

  /**
   * Without keys, rejects DNS rebinding by the Host header, other websites by the Origin header, and requests that come
   * through a proxy, behind which anyone can be.
   */
  checkOrigin(headers: IncomingHttpHeaders): void {
    if (!this.local) return
    const { host = '', origin } = headers
    const proxy = Object.keys(headers).find((name) => PROXY_HEADER.test(name))
    if (proxy !== undefined) throw new HttpProblem(403, `Requests with the header ${proxy} need an API key`, LOCAL_ONLY)
    if (!isLoopbackHost(host)) throw new HttpProblem(403, 'The Host header must name this machine', LOCAL_ONLY)
    if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
      throw new HttpProblem(403, 'Cross-origin requests are refused', LOCAL_ONLY)
    }
  }

  /**
   * The caller of the request. Throws 401 without a valid key, 429 if its address sends many such requests, and 403 if
   * the key lacks the scope. Needs no body, so none is read before.
   */
  authenticate(request: IncomingMessage, scope: Scope | undefined): Caller {
    const key = keyOf(request.headers)
    const caller = this.#holder(key)
    if (caller === undefined) {
      this.#unknown.count(request)
      throw unauthorized(key)
    }
    if (scope === undefined || !caller.scopes.has(scope)) throw forbidden(scope)
    return caller
  }

  /** The caller of the request, whatever its scopes; undefined without a valid key. A wrong key counts as in `authenticate`. */
  find(request: IncomingMessage): Caller | undefined {
    const key = keyOf(request.headers)
    const caller = this.#holder(key)
    if (caller === undefined && key !== undefined) this.#unknown.count(request)
    return caller
  }

  /** Counts an attempt to sign in, before its body is read. Throws 429 if the address has made too many. */
  countSignIn(request: IncomingMessage): void {
    if (!this.local) this.#unknown.count(request)
  }

  #holder(key: string | undefined): Caller | undefined {
    // Without keys, any key is ignored: many clients can't send none.
    const caller = key === undefined ? undefined : this.#installation.callers.find(key)
    return caller ?? (this.local ? LOCAL_CALLER : undefined)
  }
}

/** The key of a request. A malformed header counts as a wrong key, not as none. */
function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const { authorization, 'x-api-key': key } = headers
  if (authorization?.startsWith(USUAL)) return authorization.slice(USUAL.length).trim()
  if (authorization !== undefined) return BEARER.exec(authorization)?.[1] ?? ''
  return key === undefined ? keyOfPage(headers) : (key as string)
}

/** The key of a signed-in browser. It is accepted from our own page only. */
function keyOfPage(headers: IncomingHttpHeaders): string | undefined {
  const key = keyInCookie(headers)
  if (key !== undefined && !isOfOwnPage(headers)) {
    throw new HttpProblem(
      403,
      'Cross-origin requests are refused',
      'a key in a cookie is accepted from the web UI only',
    )
  }
  return key
}

const LOCAL_ONLY =
  'without API keys the server accepts requests from this machine only; create a key with "npx toolyard keys create"'

const unauthorized = (key: string | undefined): HttpProblem =>
  new HttpProblem(
    401,
    key === undefined ? 'An API key is required' : 'The API key is not valid',
    key === undefined
      ? 'send it as "Authorization: Bearer <key>" or "X-API-Key: <key>"'
      : 'it is unknown, revoked or expired',
    { 'www-authenticate': 'Bearer' },
  )

const forbidden = (scope: Scope | undefined): HttpProblem =>
  new HttpProblem(403, `The API key lacks the scope '${scope}'`)
