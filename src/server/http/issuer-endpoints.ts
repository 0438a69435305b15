import type { allowInsecureRequests, customFetch } from 'oauth4webapi'
import type { Installation } from '../../app/installation.ts'
import type { OidcConfig } from '../../config/service-schema.ts'
import { writeLog } from '../../core/log.ts'
import { guardedFetch } from '../../kinds/http/network/guarded-agent.ts'
import { boundedFetch } from '../../mcp/client/bounded-fetch.ts'
import { SignInError, unavailable } from './sign-in-error.ts'

const TIMEOUT_MS = 10_000
const INTROSPECTION_MS = 5_000
/** After a failure, an endpoint of the issuer is not asked again for so long: anyone can send tokens. */
const PAUSE_MS = 5_000
/** While the issuer fails, its signing keys count for so long after they were read. */
const STALE_KEYS_MS = 3_600_000

/** How the library sends a request. */
interface RequestOptions {
  readonly [customFetch]: never
  readonly [allowInsecureRequests]: boolean
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>
/** A failure of one says nothing about the others. */
type Endpoint = 'discovery' | 'introspection' | 'keys' | 'token'

/** Sends requests to the issuer: bounded in time and size, and not to an endpoint that has just failed. */
export class IssuerEndpoints {
  readonly #settings: OidcConfig
  readonly #installation: Installation
  readonly #fetches: Readonly<Record<Endpoint, Fetch>>
  readonly #pausedUntil = new Map<Endpoint, number>()
  readonly #quietUntil = new Map<Endpoint, number>()
  #keys: { readonly text: string; readonly at: number } | undefined

  constructor(settings: OidcConfig, installation: Installation) {
    this.#settings = settings
    this.#installation = installation
    const { issuer, introspection: { endpoint = issuer, timeout_ms = INTROSPECTION_MS } = {} } = settings
    const sender = (endpoint: Endpoint, origin = issuer, ms = TIMEOUT_MS): Fetch => {
      const send = boundedFetch(guardedFetch(new URL(origin), installation.config.http?.allow_private))
      return async (url, init) => {
        if (installation.clock.now() < (this.#pausedUntil.get(endpoint) ?? 0)) throw unavailable()
        return send(url, { ...init, signal: AbortSignal.timeout(ms) })
      }
    }
    const to = (endpoint: Endpoint, pauseMs = PAUSE_MS): Fetch => {
      const send = sender(endpoint)
      return async (...request) => {
        try {
          const response = await send(...request)
          if (response.status < 500) return response
          throw new Error(`it answered with status ${response.status}`)
        } catch (error) {
          if (error instanceof SignInError) throw error
          throw this.failed(endpoint, (error as Error).message, pauseMs)
        }
      }
    }
    const keys = to('keys')
    this.#fetches = {
      discovery: to('discovery'),
      // What fails here may be about one token.
      introspection: sender('introspection', endpoint, timeout_ms),
      // What fails here may be about one user, who has sent a code that the issuer can't read.
      token: to('token', 0),
      keys: (...request) => this.#keysBy(keys, request),
    }
  }

  fetch(endpoint: Endpoint): Fetch {
    return this.#fetches[endpoint]
  }

  /** For requests of the library. */
  async options(endpoint: Endpoint): Promise<RequestOptions> {
    const oauth = await import('oauth4webapi')
    const { issuer, introspection } = this.#settings
    const address = endpoint === 'introspection' ? (introspection?.endpoint ?? issuer) : issuer
    return {
      [oauth.customFetch]: this.#fetches[endpoint] as never,
      // The configuration allows http for addresses on this machine only.
      [oauth.allowInsecureRequests]: address.startsWith('http:'),
    }
  }

  /** Logs a failure, and doesn't ask the endpoint for a while. Returns the error for those who wait. */
  failed(endpoint: Endpoint, problem: string, pauseMs = PAUSE_MS): SignInError {
    const { clock, log } = this.#installation
    const now = clock.now()
    this.#pausedUntil.set(endpoint, Math.max(this.#pausedUntil.get(endpoint) ?? 0, now + pauseMs))
    // A setting that is wrong fails for each token that anyone sends.
    if (now >= (this.#quietUntil.get(endpoint) ?? 0)) {
      this.#quietUntil.set(endpoint, now + PAUSE_MS)
      const details = { issuer: this.#settings.issuer, endpoint, problem }
      writeLog(log, 'warn', details, 'The OpenID Connect issuer failed')
    }
    return unavailable()
  }

  /** The signing keys, or the last ones while the issuer fails. */
  async #keysBy(fetch: Fetch, request: Parameters<Fetch>): Promise<Response> {
    const now = this.#installation.clock.wall()
    try {
      const response = await fetch(...request)
      const text = await response.text()
      if (response.status !== 200 || !isKeySet(text)) throw this.failed('keys', 'it has no set of keys')
      this.#keys = { text, at: now }
    } catch (error) {
      if (this.#keys === undefined) throw error
    }
    const { text, at } = this.#keys
    if (now - at >= STALE_KEYS_MS) throw unavailable()
    return new Response(text, { headers: { 'content-type': 'application/json' } })
  }
}

function isKeySet(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text)?.keys)
  } catch {
    return false
  }
}
