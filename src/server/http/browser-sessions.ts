import { hash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../../app/callers/callers.ts'
import { USER_WORK_MS } from '../../app/callers/users.ts'
import type { Installation } from '../../app/installation.ts'
import type { TrustedProxies, UnknownCallers } from './client-address.ts'
import { HttpProblem } from './problem.ts'

const HOUR_MS = 3_600_000
const IDLE_MS = 12 * HOUR_MS
const MAX_AGE_MS = 7 * 24 * HOUR_MS
/** A session in use is extended once a minute, not with every request. */
const EXTEND_EVERY_MS = 60_000
const MAX_PER_KEY = 100
// Used as `maxSize`: `max` would reserve the memory at the start.
const MAX_REMEMBERED = 10_000

const NAME = 'toolyard_session'
/** Browsers accept this name only from the host itself over https: no other page of the domain can set the cookie. */
const HOST_NAME = `__Host-${NAME}`
const FOUND = new RegExp(`(?:^|;\\s*)(${HOST_NAME}|${NAME})=([\\w-]{43})(?=;|\\s|$)`, 'g')
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict'

/** Browsers that are signed in. The cookie holds a random id, and the store the hash of it. */
export class BrowserSessions {
  readonly #installation: Installation
  readonly #proxies: TrustedProxies
  readonly #unknown: UnknownCallers
  /** Hashes of sessions that were valid here. Unknown ones are looked up only while their address may send more. */
  readonly #seen = new LRUCache<string, true>({ maxSize: MAX_REMEMBERED, sizeCalculation: () => 1 })

  constructor(installation: Installation, proxies: TrustedProxies, unknown: UnknownCallers) {
    this.#installation = installation
    this.#proxies = proxies
    this.#unknown = unknown
  }

  /** Starts a session. Returns its Set-Cookie header. */
  async start(caller: Caller, request: IncomingMessage): Promise<string> {
    const { storage, clock } = this.#installation
    const id = randomBytes(32).toString('base64url')
    const now = clock.wall()
    // A user signs in again, and gets the current role, after some hours.
    const lifeMs = caller.user === undefined ? MAX_AGE_MS : USER_WORK_MS
    const session = { hash: hashOf(id), caller: caller.id, expires_at: now + IDLE_MS, ends_at: now + lifeMs }
    await storage.sessions.start(session, MAX_PER_KEY)
    return this.#cookie(request, id, lifeMs / 1_000)
  }

  /** Whether a client uses https: cookies are then bound to the host. */
  isHttps(request: IncomingMessage): boolean {
    const { public_url } = this.#installation.config.server ?? {}
    return this.#proxies.isHttps(request) || `https://${request.headers.host?.toLowerCase()}` === public_url
  }

  /** The session id in the cookie. Throws 403 if another page sends it. */
  idOf(request: IncomingMessage): string | undefined {
    const { cookie } = request.headers
    if (cookie === undefined) return undefined
    const ids = new Map(Array.from(cookie.matchAll(FOUND), ([, name, id]) => [name, id]))
    if (ids.size > 0 && !isOfOwnPage(request.headers)) {
      throw new HttpProblem(
        403,
        'Cross-origin requests are refused',
        'a session cookie is accepted from the web UI only',
      )
    }
    return ids.get(HOST_NAME) ?? (this.isHttps(request) ? undefined : ids.get(NAME))
  }

  /** The caller of a session; undefined if the session or its key has ended. */
  async find(id: string, request: IncomingMessage): Promise<Caller | undefined> {
    const { storage, clock, callers } = this.#installation
    const hash = hashOf(id)
    if (!this.#seen.has(hash)) this.#unknown.check(request)
    const session = await storage.sessions.get(hash)
    const now = clock.wall()
    const isOpen = session !== undefined && Math.min(session.expires_at, session.ends_at) > now
    // Another server may have started it for a key or a user that this one doesn't know yet.
    if (isOpen && callers.byId(session.caller) === undefined) await callers.load(storage.keys)
    const caller = isOpen ? callers.byId(session.caller) : undefined
    if (caller === undefined) {
      this.#seen.delete(hash)
      return undefined
    }
    this.#seen.set(hash, true)
    if (session !== undefined && now + IDLE_MS - session.expires_at >= EXTEND_EVERY_MS) {
      await storage.sessions.extend(hash, now + IDLE_MS)
    }
    return caller
  }

  /** Ends the session of a request. Returns the Set-Cookie header that removes its cookie. */
  async end(request: IncomingMessage): Promise<string> {
    const id = this.idOf(request)
    if (id !== undefined) await this.#installation.storage.sessions.end(hashOf(id))
    return this.#cookie(request, '', 0)
  }

  #cookie(request: IncomingMessage, id: string, maxAge: number): string {
    const https = this.isHttps(request)
    return `${https ? HOST_NAME : NAME}=${id}; Max-Age=${maxAge}; ${ATTRIBUTES}${https ? '; Secure' : ''}`
  }
}

/** One fast hash is enough: an id has too many bits to be guessed. */
const hashOf = (id: string): string => hash('sha256', id)

/**
 * Whether a request comes from this server's own page. A cookie alone proves nothing: browsers also send it with
 * requests from other ports of the same host.
 */
export function isOfOwnPage({ host = '', origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (origin !== undefined) return origin.toLowerCase().replace(/^https?:\/\//, '') === host.toLowerCase()
  return site === undefined || site === 'same-origin' || site === 'none'
}
