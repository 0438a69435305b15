import { once } from 'node:events'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Clock } from '../../../core/clock.ts'
import { type Environment, variableIn } from '../../../core/environment.ts'

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
export async function openTunnel(proxy: URL, target: Target, clock: Clock): Promise<Socket> {
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
