import { LRUCache } from 'lru-cache'
import type { AuthorizationServer } from 'oauth4webapi'
import type { Installation } from '../../app/installation.ts'
import type { IntrospectionConfig } from '../../config/service-schema.ts'
import { expandVariables, variableProblem } from '../../core/environment.ts'
import { API_KEY_FORMATS } from '../../core/records/redact.ts'
import { TooLargeAnswerError } from '../../mcp/client/bounded-fetch.ts'
import { isJwt } from './access-token.ts'
import type { Claims } from './claims.ts'
import type { IssuerEndpoints } from './issuer-endpoints.ts'
import { refused, SignInError, unavailable } from './sign-in-error.ts'

const CACHE_MS = 60_000
/** A token that is not active may only be new. */
const INACTIVE_MS = 10_000
/** The issuer is not asked again about a token on which it failed. */
const FAILED_MS = 5_000
/** A user may have a token or two that no issuer can answer about: the fault is the issuer's if others fail as well. */
const MAX_FAILED = 3
const MAX_ANSWER = 65_536
/** Of all stored answers, in characters. */
const MAX_CACHE = 8_388_608
const ENTRY_SIZE = 500
const MAX_REFUSED = 1_000
/** Anyone can send tokens that the issuer doesn't know. */
const MAX_PENDING = 100
/** As RFC 6750 has them. */
const TOKEN = /^[\w.~+/-]{1,4096}=*$/
/** Texts that look like keys of Toolyard, whether they are known or not. */
const KEY = new RegExp(`^[Tt][Yy]_|${API_KEY_FORMATS.join('|')}`)

/** An answer of the issuer about a token. It counts for a while. */
interface Answer {
  readonly claims: Claims
  /** Milliseconds since 1970. */
  readonly until: number
}

/** Asks the issuer about tokens (RFC 7662). */
export class Introspection {
  readonly #settings: IntrospectionConfig
  readonly #installation: Installation
  readonly #endpoints: IssuerEndpoints
  /** By the hash of the token. */
  readonly #answers: LRUCache<string, Answer>
  readonly #pending = new Map<string, Promise<Answer>>()
  /** Why tokens are refused without asking again, by their hash. */
  readonly #refused: LRUCache<string, { readonly error: SignInError; readonly until: number }>
  /** The tokens on which the issuer has failed since it last answered. */
  readonly #failed = new Set<string>()

  constructor(settings: IntrospectionConfig, installation: Installation, endpoints: IssuerEndpoints) {
    this.#settings = settings
    this.#installation = installation
    this.#endpoints = endpoints
    this.#answers = new LRUCache({ maxSize: MAX_CACHE })
    this.#refused = new LRUCache({ maxSize: MAX_REFUSED, sizeCalculation: () => 1 })
  }

  /** Whether the issuer is asked about a token. Never about one that can be verified here, unless it is configured. */
  takes(token: string): boolean {
    if (KEY.test(token)) return false
    return isJwt(token) ? this.#settings.jwt === true : TOKEN.test(token)
  }

  /** What the issuer says about a token with this hash. Requests that come meanwhile share the answer. */
  async ask(token: string, hash: string, server: AuthorizationServer): Promise<Answer> {
    const known = this.#answers.get(hash)
    const now = this.#installation.clock.wall()
    if (known !== undefined && known.until > now) return known
    const before = this.#refused.get(hash)
    if (before !== undefined && before.until > now) throw before.error
    const pending = this.#pending.get(hash)
    if (pending !== undefined) return pending
    if (this.#pending.size >= MAX_PENDING) throw unavailable('too many tokens are being checked; try again later')
    const asked = this.#ask(token, hash, server).finally(() => this.#pending.delete(hash))
    this.#pending.set(hash, asked)
    return asked
  }

  async #ask(token: string, hash: string, server: AuthorizationServer): Promise<Answer> {
    const { endpoint, cache_ms = CACHE_MS } = this.#settings
    const asked = endpoint ? { ...server, introspection_endpoint: endpoint } : server
    const { claims, size } = await this.#send(token, hash, asked)
    const now = this.#installation.clock.wall()
    const end = claims.active === true ? Number(claims.exp) * 1_000 || now : now + INACTIVE_MS
    const answer = { claims, until: Math.min(end, now + cache_ms) }
    this.#answers.set(hash, answer, { size: ENTRY_SIZE + size })
    return answer
  }

  /** Rejects with a SignInError. Only failures on several tokens in a row count for the others. */
  async #send(
    token: string,
    hash: string,
    server: AuthorizationServer,
  ): Promise<{ readonly claims: Claims; readonly size: number }> {
    const oauth = await import('oauth4webapi')
    const client = { client_id: this.#expanded('client_id') }
    const secret = this.#expanded('client_secret')
    const { introspection_endpoint_auth_methods_supported: methods = [] } = server
    const isPosted = methods.includes('client_secret_post') && !methods.includes('client_secret_basic')
    const authentication = isPosted ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret)
    const options = {
      ...(await this.#endpoints.options('introspection')),
      additionalParameters: { token_type_hint: 'access_token' },
    }
    const response = await this.#response(hash, () =>
      oauth.introspectionRequest(server, client, authentication, token, options),
    )
    const text = await response.text()
    if (text.length > MAX_ANSWER)
      throw this.#unusable(hash, `it has ${text.length} characters, at most ${MAX_ANSWER} count`)
    // Not as a JWT, whose signature the library would leave to us.
    const json = new Response(text, { headers: { 'content-type': 'application/json' } })
    const claims = await oauth.processIntrospectionResponse(server, client, json).catch((error: Error) => {
      throw this.#unusable(hash, error.message)
    })
    return { claims, size: text.length }
  }

  async #response(hash: string, send: () => Promise<Response>): Promise<Response> {
    let problem: string
    try {
      const response = await send()
      if (response.status === 200) {
        this.#failed.clear()
        return response
      }
      problem = `it answered with status ${response.status}`
      // It is about this token only: it doesn't say that the issuer fails.
      if (response.status === 400)
        throw this.#rejected(hash, FAILED_MS, this.#endpoints.failed('introspection', problem, 0))
    } catch (error) {
      // Also while the issuer isn't asked.
      if (error instanceof SignInError) throw error
      if (error instanceof TooLargeAnswerError) throw this.#unusable(hash, error.message)
      problem = (error as Error).message
    }
    this.#failed.add(hash)
    const isIssuer = this.#failed.size >= MAX_FAILED
    if (isIssuer) this.#failed.clear()
    throw this.#rejected(hash, FAILED_MS, this.#endpoints.failed('introspection', problem, isIssuer ? FAILED_MS : 0))
  }

  /** The issuer works, but what it says about this token is of no use. */
  #unusable(hash: string, problem: string): SignInError {
    const { cache_ms = CACHE_MS } = this.#settings
    const error = refused(`the issuer's answer about it can't be used: ${problem}`)
    return this.#rejected(hash, Math.min(INACTIVE_MS, cache_ms), error)
  }

  #rejected(hash: string, ms: number, error: SignInError): SignInError {
    this.#refused.set(hash, { error, until: this.#installation.clock.wall() + ms })
    return error
  }

  #expanded(key: 'client_id' | 'client_secret'): string {
    const { env } = this.#installation
    const text = this.#settings[key]
    const problem = variableProblem(text, env)
    if (problem !== undefined) {
      throw this.#endpoints.failed('introspection', `auth.oidc.introspection.${key}: ${problem}`)
    }
    return expandVariables(text, env).text
  }
}
