import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { type Caller, LOCAL_CALLER, NO_KEY, WRONG_KEY } from '../../app/callers/callers.ts'
import type { Installation } from '../../app/installation.ts'
import type { Config } from '../../config/config.ts'
import { connectionGuard } from '../../isolation/connection-guard.ts'
import { BrowserSessions } from './browser-sessions.ts'
import { TrustedProxies, UnknownCallers } from './client-address.ts'
import { Issuer } from './issuer.ts'
import { HttpProblem } from './problem.ts'
import type { NeededScope } from './route.ts'
import { SignInError } from './sign-in-error.ts'

const LOOPBACK = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\])(?::\d{1,5})?$/i

/** Whether a Host header names this machine: localhost, *.localhost, 127.0.0.0/8 or [::1], with any port. */
const isLoopbackHost = (host: string): boolean => LOOPBACK.test(host)

/** Whether a server that listens on this address is reachable from this machine only. */
export const isLoopbackAddress = (address: string): boolean =>
  isLoopbackHost(address.includes(':') ? `[${address}]` : address)

/** Whether requests from this machine need no key. The first key ends `until-first-key` for good. */
export type LocalAccess = 'never' | 'until-first-key' | 'always'

const PROXY_HEADER =
  /^(?:x-forwarded(?:-.*)?|forwarded|via|x-real-ip|(?:true|x|x-cluster|cf)-(?:client|connecting)-ip|x-envoy-.*)$/

/** Where clients find the metadata of a protected resource, before its path. */
export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource'

const USUAL = 'Bearer '
const BEARER = /^Bearer +(\S+) *$/i

/** Identifies the caller of a request and checks its scope. */
export class Authenticator {
  readonly sessions: BrowserSessions
  readonly #installation: Installation
  readonly #unknown: UnknownCallers
  #local: LocalAccess
  #issuer: { readonly of: Config; readonly issuer: Issuer | undefined } | undefined = undefined
  /** Whether a connection comes from an isolated handler: requests wait for the answer. */
  readonly #isolated = new WeakMap<Socket, boolean | Promise<boolean>>()

  constructor(installation: Installation, local: LocalAccess) {
    this.#installation = installation
    const proxies = new TrustedProxies(installation)
    this.#unknown = new UnknownCallers(installation, proxies)
    this.sessions = new BrowserSessions(installation, proxies, this.#unknown)
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

  /** How long requests need no key; undefined: they need one. */
  get keyless(): Exclude<LocalAccess, 'never'> | undefined {
    return this.local && this.#local !== 'never' ? this.#local : undefined
  }

  /** The configured issuer of tokens, if there is one. */
  get issuer(): Issuer | undefined {
    const { config } = this.#installation
    // A reload may change it.
    if (this.#issuer?.of !== config) {
      const { oidc } = config.auth ?? {}
      this.#issuer = { of: config, issuer: oidc && new Issuer(oidc, this.#installation) }
    }
    return this.#issuer.issuer
  }

  /** The address of this server for clients: `server.public_url`, or the address on this machine that the client used. */
  publicUrl({ host = '' }: IncomingHttpHeaders): string | undefined {
    return this.#installation.config.server?.public_url ?? (isLoopbackHost(host) ? `http://${host}` : undefined)
  }

  /**
   * Without keys, rejects DNS rebinding by the Host header, other websites by the Origin header, and requests that come
   * through a proxy, behind which anyone can be.
   */
  checkOrigin(request: FastifyRequest): void {
    if (!this.local) return
    const { headers } = request
    const { host = '', origin } = headers
    const proxy = Object.keys(headers).find((name) => PROXY_HEADER.test(name))
    if (proxy !== undefined) throw new HttpProblem(403, `Requests with the header ${proxy} need an API key`, LOCAL_ONLY)
    // Browsers say where a request comes from, also without an Origin header.
    const site = headers['sec-fetch-site']
    if ((site === 'cross-site' || site === 'same-site') && !isReturn(request)) {
      throw new HttpProblem(403, 'Cross-origin requests are refused', LOCAL_ONLY)
    }
    if (!isLoopbackHost(host)) throw new HttpProblem(403, 'The Host header must name this machine', LOCAL_ONLY)
    if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
      throw new HttpProblem(403, 'Cross-origin requests are refused', LOCAL_ONLY)
    }
  }

  /**
   * The caller of the request: at once for a key, later for a session or a new token. Throws or rejects with 401 without
   * a valid one, 429 if its address sends many such requests, and 403 if the caller lacks the scope. Needs no body, so
   * none is read before. `mcpPath` is the path of an endpoint of MCP.
   */
  authenticate(request: IncomingMessage, scope: NeededScope | undefined, mcpPath?: string): Caller | Promise<Caller> {
    const key = keyOf(request.headers)
    const session = key === undefined ? this.sessions.idOf(request) : undefined
    const check = (caller: Caller | undefined): Caller => {
      if (caller === undefined) {
        this.recordRefused(request, key)
        this.#unknown.count(request)
        throw unauthorized(key, session, this.#challenge(request, mcpPath))
      }
      if (!holds(caller, scope)) throw forbidden(scope, caller)
      return caller
    }
    const caller = this.#callerOf(key, session, request, mcpPath)
    return caller instanceof Promise ? caller.then(check) : check(caller)
  }

  /** The caller of the request, whatever its scopes; undefined without a valid key. A wrong key counts as in `authenticate`. */
  async find(request: IncomingMessage): Promise<Caller | undefined> {
    const key = keyOf(request.headers)
    const session = key === undefined ? this.sessions.idOf(request) : undefined
    let caller: Caller | undefined
    try {
      caller = await this.#callerOf(key, session, request)
    } catch (error) {
      // A token that isn't valid is recorded and counted already.
      if (error instanceof HttpProblem && (error.status === 401 || error.status === 403)) return undefined
      throw error
    }
    if (caller === undefined && (key ?? session) !== undefined) {
      this.recordRefused(request, key)
      this.#unknown.count(request)
    }
    return caller
  }

  /** Records a key that isn't valid in the audit log: never the key itself, but which one it was if that is known. */
  recordRefused(request: IncomingMessage, key: string | undefined, problem?: string): void {
    if (key === undefined) return
    this.#installation.refreshKeys()
    const { callers, events } = this.#installation
    const { id, name, tenant } = callers.former(key) ?? {}
    const address = this.#unknown.addressOf(request)
    events.count('key.refused', address, { tenant, subject: id, failed: true, detail: { address, name, problem } })
  }

  /** Records the start of a page session. */
  recordSignIn(request: IncomingMessage, caller: Caller): void {
    const { id, tenant } = caller
    const detail = { address: this.#unknown.addressOf(request) }
    this.#installation.events.count('session.started', id, { by: caller, tenant, subject: id, detail })
  }

  /** Counts an attempt to sign in, before its body is read. Throws 429 if the address has made too many. */
  countSignIn(request: IncomingMessage): void {
    if (!this.local) this.#unknown.count(request)
  }

  #callerOf(
    key: string | undefined,
    session: string | undefined,
    request: IncomingMessage,
    mcpPath?: string,
  ): Caller | undefined | Promise<Caller | undefined> {
    if (session !== undefined) {
      return this.sessions.find(session, request).then((caller) => this.#orLocal(caller, request))
    }
    const caller = key === undefined ? undefined : this.#installation.callers.find(key)
    if (caller !== undefined) return caller
    const { issuer } = this
    if (issuer !== undefined && key !== undefined && request.headers.authorization && issuer.takes(key)) {
      return issuer.known(key, mcpPath) ?? this.#verify(issuer, key, request, mcpPath)
    }
    // Without keys, any key is ignored: many clients can't send none.
    return this.#orLocal(undefined, request)
  }

  /** The caller of a token. Verifying one is work: an address may send so many wrong ones. */
  async #verify(issuer: Issuer, token: string, request: IncomingMessage, mcpPath: string | undefined): Promise<Caller> {
    this.#unknown.check(request)
    try {
      return await issuer.verify(token, mcpPath)
    } catch (error) {
      const local = await this.#orLocal(undefined, request)
      if (local !== undefined) return local
      if (!(error instanceof SignInError)) throw error
      if (error.fault !== 'unavailable') {
        this.recordRefused(request, token, error.message)
        this.#unknown.count(request)
      }
      throw error.problem(this.#challenge(request, mcpPath, true))
    }
  }

  /** Clients of /mcp learn where they get a token (RFC 9728). */
  #challenge(request: IncomingMessage, path: string | undefined, sentToken = false): string {
    const origin = path === undefined || this.issuer === undefined ? undefined : this.publicUrl(request.headers)
    const problem = sentToken ? ['error="invalid_token"'] : []
    const metadata = origin === undefined ? [] : [`resource_metadata="${origin}${RESOURCE_METADATA}${path}"`]
    return `Bearer ${[...problem, ...metadata].join(', ')}`.trimEnd()
  }

  #orLocal(caller: Caller | undefined, { socket }: IncomingMessage): Caller | undefined | Promise<Caller | undefined> {
    if (caller !== undefined || !this.local) return caller
    const isIsolated = this.#isIsolated(socket)
    if (typeof isIsolated === 'boolean') return isIsolated ? undefined : LOCAL_CALLER
    // The first key may exist when the answer comes.
    return isIsolated.then((known) => (known || !this.local ? undefined : LOCAL_CALLER))
  }

  #isIsolated(socket: Socket): boolean | Promise<boolean> {
    let known = this.#isolated.get(socket)
    if (known === undefined) {
      known = connectionGuard.isFromChild(socket)
      this.#isolated.set(socket, known)
      if (typeof known !== 'boolean') void known.then((answer) => this.#isolated.set(socket, answer))
    }
    return known
  }
}

const RETURNS: ReadonlySet<string | undefined> = new Set(['/api/connections/:provider/callback', '/settings'])

/** Whether a window comes back from an OAuth provider, or goes on from there to the web UI. */
const isReturn = ({ method, routeOptions, headers }: FastifyRequest): boolean =>
  method === 'GET' &&
  headers['sec-fetch-mode'] === 'navigate' &&
  headers['sec-fetch-dest'] === 'document' &&
  RETURNS.has(routeOptions.url)

/** The key of a request. A malformed header counts as a wrong key, not as none. */
function keyOf({ authorization, 'x-api-key': key }: IncomingHttpHeaders): string | undefined {
  if (authorization?.startsWith(USUAL)) return authorization.slice(USUAL.length).trim()
  if (authorization !== undefined) return BEARER.exec(authorization)?.[1] ?? ''
  return key as string | undefined
}

const LOCAL_ONLY =
  'without API keys the server accepts requests from this machine only; create a key with "npx toolyard keys create"'

const unauthorized = (key: string | undefined, session: string | undefined, challenge = 'Bearer'): HttpProblem => {
  const [title, detail] =
    session !== undefined ? ['The session has ended', 'sign in again'] : key !== undefined ? WRONG_KEY : NO_KEY
  return new HttpProblem(401, title, detail, { 'www-authenticate': challenge })
}

/** The key was valid when the request began. */
export const keyEnded = (): HttpProblem => unauthorized('', undefined)

const holds = ({ scopes }: Caller, scope: NeededScope | undefined): boolean =>
  typeof scope === 'string' ? scopes.has(scope) : scope?.some((one) => scopes.has(one)) === true

const forbidden = (scope: NeededScope | undefined, { user, role }: Caller): HttpProblem =>
  new HttpProblem(
    403,
    `${user === undefined ? 'The API key' : `The role '${role}'`} lacks the scope '${[scope].flat().join("' or '")}'`,
  )
