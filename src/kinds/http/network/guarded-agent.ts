import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Agent, buildConnector, errors, fetch } from 'undici'
import { type Clock, systemClock } from '../../../core/clock.ts'
import { type Environment, variableIn } from '../../../core/environment.ts'
import { connectionCode, mayHaveLeft } from '../../../core/failure.ts'
import { ToolExecutionError } from '../../../core/tool-result.ts'
import { AddressRules } from './address-rules.ts'
import { RefusedAddress, refusedAddress } from './network-rules.ts'

export interface AgentParts {
  readonly lookup?: Lookup
  readonly dial?: Dial
  readonly clock?: Clock
  /** Connections to this origin aren't checked: the operator configured it. */
  readonly trusted?: URL
  /** Names the proxies; by default the environment of this process. */
  readonly env?: Environment
}

const MAX_ADDRESSES_TRIED = 4

/** Connections to one origin. */
export const CONNECTIONS = 256

const BOUNDS = {
  connections: CONNECTIONS,
  maxOrigins: 1_000,
  maxHeaderSize: 16_384,
  pipelining: 1,
  keepAliveMaxTimeout: 60_000,
  // The dialer speaks HTTP/1.1 only. Otherwise a pool would open its first connections one by one.
  allowH2: false,
} as const

/**
 * An agent that connects only to allowed addresses. Each connection goes to the address that was just checked, so DNS
 * can't return one address for the check and another for the connection.
 */
export function guardedAgent(addresses: AddressRules, parts: AgentParts = {}): Agent {
  const clock = parts.clock ?? systemClock
  const find = sharedLookup(parts.lookup ?? systemLookup, clock)
  const dial = parts.dial ?? socketDial()
  const open = async ({ hostname, port, protocol }: buildConnector.Options): Promise<Socket> => {
    const isName = isIP(hostname) === 0
    const proxy = proxyFor({ protocol, hostname, port }, parts.env ?? process.env)
    const lookedUp = isName ? addressesOf(hostname, find) : Promise.resolve([hostname])
    // Behind a proxy, this machine may not be able to resolve public names.
    const found = await (proxy === undefined ? lookedUp : lookedUp.catch(() => []))
    const checked = isOrigin(parts.trusted, protocol, hostname, port) ? [] : found
    for (const address of checked) {
      const what = addresses.refusal(address)
      if (what !== undefined) throw new RefusedAddress(hostname, what)
    }
    if (proxy !== undefined) return openTunnel(proxy, { protocol, hostname, port }, clock)
    // The certificate must match the host of the URL, not a `host` header.
    const end = isName ? { port, protocol, servername: hostname.replace(/\.$/, '') } : { port, protocol }
    return dialInTurn(found, end, dial)
  }
  return new Agent({
    ...BOUNDS,
    connect: (asked, callback) => {
      open(asked).then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      )
    },
  })
}

const LOCALHOST = /(?:^|\.)localhost\.*$/i

/** `localhost` and the names below it are this machine, also if they can't be resolved. */
const addressesOf = (hostname: string, find: Lookup): Promise<readonly string[]> =>
  LOCALHOST.test(hostname) ? find(hostname).catch(() => ['127.0.0.1']) : find(hostname)

const isOrigin = (origin: URL | undefined, protocol: string, hostname: string, port: string): boolean =>
  origin !== undefined &&
  URL.parse(`${protocol}//${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port}`)?.origin === origin.origin

type Fetch = typeof globalThis.fetch

/**
 * `fetch` for one configured server. The server may be anywhere; addresses that its redirects and answers name are
 * checked.
 */
export function guardedFetch(server: URL, allowPrivate: readonly string[] = [], parts: AgentParts = {}): Fetch {
  const agent = guardedAgent(new AddressRules(allowPrivate), { ...parts, trusted: server })
  // The types of undici and of Node.js describe the same objects.
  const guarded = fetch as unknown as (url: unknown, init: object) => ReturnType<Fetch>
  return (url, init) =>
    guarded(url, { ...init, dispatcher: agent }).catch((error: unknown) => {
      const refused = refusedAddress(error)
      throw refused === undefined ? error : new ToolExecutionError('SERVICE_UNAVAILABLE', refused.message)
    })
}

/** Tries the next address only if one is unreachable: other failures would repeat. */
async function dialInTurn(
  addresses: readonly string[],
  end: Pick<DialTarget, 'port' | 'protocol' | 'servername'>,
  dial: Dial,
): Promise<Socket> {
  const tried = alternating(addresses).slice(0, MAX_ADDRESSES_TRIED)
  let failure: unknown
  for (const [index, address] of tried.entries()) {
    try {
      return await dial({ ...end, address, hasNext: index < tried.length - 1 })
    } catch (error) {
      failure = error
      const code = connectionCode(error)
      if (code === undefined || mayHaveLeft(code)) break
    }
  }
  throw failure
}

/** Alternates IPv4 and IPv6, so that a broken family costs one attempt. */
function alternating(addresses: readonly string[]): readonly string[] {
  const seen = [0, 0]
  const turns = addresses.map((address) => {
    const family = isIP(address) === 4 ? 0 : 1
    const turn = seen[family] ?? 0
    seen[family] = turn + 1
    return { address, turn }
  })
  return turns.sort((one, other) => one.turn - other.turn).map(({ address }) => address)
}

/** The target of one connection: a checked address, never a name. */
export interface DialTarget {
  readonly address: string
  readonly port: string
  readonly protocol: string
  /** The name that the certificate must match; undefined if the URL has an address. */
  readonly servername?: string
  readonly hasNext: boolean
}

type Dial = (target: DialTarget) => Promise<Socket>

const CONNECT_TIMEOUT_MS = 10_000
/** Timeout if another address can be tried. */
const NEXT_AFTER_MS = 1_000

/** Connects sockets. Verifies certificates, whatever NODE_TLS_REJECT_UNAUTHORIZED says. */
export function socketDial(): Dial {
  const patient = connector(CONNECT_TIMEOUT_MS)
  const hasty = connector(NEXT_AFTER_MS)
  return ({ address, port, protocol, servername, hasNext }) => {
    const connect = hasNext ? hasty : patient
    // For http, the connector would connect to the server name.
    const name = protocol === 'https:' && servername !== undefined ? { servername } : {}
    return new Promise((resolve, reject) => {
      connect({ hostname: address, port, protocol, ...name }, (error, socket) =>
        error === null ? resolve(socket) : reject(error),
      )
    })
  }
}

/** HTTP/1.1 only: the agent's `maxHeaderSize` doesn't limit HTTP/2 headers. */
const connector = (timeout: number): buildConnector.connector =>
  buildConnector({ timeout, allowH2: false, rejectUnauthorized: true })

type Lookup = (hostname: string) => Promise<readonly string[]>

/** Resolves like any other program on this machine: hosts file, then DNS, in the system's order. */
const systemLookup: Lookup = async (hostname) => {
  const found = await lookup(hostname, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}

const LOOKUP_TIMEOUT_MS = 10_000

/**
 * Shares lookups of the same name: the system resolves only a few at the same time, so connections to one slow name
 * would delay all others. Results aren't cached. Rejects with the resolver's own code.
 */
function sharedLookup(lookup: Lookup, clock: Clock): Lookup {
  const running = new Map<string, Promise<readonly string[]>>()
  const find = async (hostname: string): Promise<readonly string[]> => {
    const found = await lookup(hostname)
    if (found.length > 0) return found
    throw Object.assign(new Error(`The name '${hostname}' has no address`), { code: 'ENOTFOUND' })
  }
  return (hostname) => {
    const shared = running.get(hostname) ?? find(hostname).finally(() => running.delete(hostname))
    running.set(hostname, shared)
    return new Promise((resolve, reject) => {
      const late = () => reject(new errors.ConnectTimeoutError(`Resolving the name '${hostname}' timed out`))
      const cancel = clock.after(LOOKUP_TIMEOUT_MS, late)
      shared.then(resolve, reject).finally(cancel)
    })
  }
}

/** The target of a connection through a proxy. */
interface Target {
  readonly protocol: string
  readonly hostname: string
  readonly port: string
}

/** Never reached through a proxy. */
const LOOPBACK_HOSTS = 'localhost,127.0.0.1,::1'

/** The proxy for a target, from HTTP_PROXY, HTTPS_PROXY and NO_PROXY in either case; undefined if there is none. */
export function proxyFor({ protocol, hostname, port }: Target, env: Environment): URL | undefined {
  const named = (name: string) => variableIn(env, name.toLowerCase()) || variableIn(env, name)
  const proxy = named(protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY')
  if (!proxy || isDirect(`${LOOPBACK_HOSTS},${named('NO_PROXY') ?? ''}`, hostname, port || defaultPort(protocol)))
    return undefined
  return URL.parse(proxy.includes('://') ? proxy : `http://${proxy}`) ?? undefined
}

const defaultPort = (protocol: string): string => (protocol === 'https:' ? '443' : '80')

/** Entries are `*`, hosts, domains with or without a dot before them, each with or without a port. */
function isDirect(list: string, hostname: string, port: string): boolean {
  const host = hostname.toLowerCase().replace(/(?<!\.)\.+$/, '')
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      const [, name = '', own] = /^(.*?)(?::(\d+))?$/.exec(isIP(entry) === 6 ? `${entry}:${port}` : entry) ?? []
      if (name === '' || (own !== undefined && own !== port)) return false
      if (name === '*') return true
      const domain = name.replace(/^\*?\./, '')
      return host === domain || (isIP(host) === 0 && host.endsWith(`.${domain}`))
    })
}

const TIMEOUT_MS = 10_000

/** Connects to a host through a proxy (CONNECT), with one timeout for all of it. The certificate must match the host. */
async function openTunnel(proxy: URL, target: Target, clock: Clock): Promise<Socket> {
  const { protocol, hostname, port } = target
  const place = `${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port || defaultPort(protocol)}`
  const request = connectRequest(proxy, place)
  let pending: ClientRequest | Socket = request
  const late = () => pending.destroy(Object.assign(new Error('The proxy timed out'), { code: 'ETIMEDOUT' }))
  const cancel = clock.after(TIMEOUT_MS, late)
  try {
    const socket = await connected(request)
    if (protocol !== 'https:') return socket
    const name = isIP(hostname) === 0 ? { servername: hostname.replace(/\.$/, '') } : {}
    const secure = connectTls({ socket, host: hostname, ...name, rejectUnauthorized: true })
    pending = secure
    await once(secure, 'secureConnect')
    return secure
  } catch (error) {
    pending.destroy()
    throw error
  } finally {
    cancel()
  }
}

function connectRequest(proxy: URL, target: string): ClientRequest {
  const { protocol, username, password } = proxy
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const authorization = { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }
  const send = protocol === 'https:' ? httpsRequest : httpRequest
  return send({
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: proxy.port || defaultPort(protocol),
    method: 'CONNECT',
    path: target,
    headers: { host: target, ...(username !== '' && authorization) },
    agent: false,
  })
}

function connected(request: ClientRequest): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const refused = (statusCode: number | undefined) =>
      reject(Object.assign(new Error(`The proxy answered with ${statusCode}`), { code: 'ECONNREFUSED' }))
    request.once('connect', ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket)
      socket.destroy()
      refused(statusCode)
    })
    // Another proxy might answer an ordinary response.
    request.once('response', ({ statusCode }) => refused(statusCode))
    request.on('error', reject)
    request.end()
  })
}
