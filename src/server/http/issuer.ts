import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { AuthorizationServer, Client } from 'oauth4webapi'
import type { Caller } from '../../app/callers/callers.ts'
import { TENANT_NAME } from '../../app/callers/tenants.ts'
import { basisOf, CLOCK_TOLERANCE_MS, MAX_SUBJECT_LENGTH, userId } from '../../app/callers/users.ts'
import type { Installation } from '../../app/installation.ts'
import type { OidcConfig } from '../../config/config.ts'
import { expandVariables, variableProblem } from '../../core/environment.ts'
import { writeLog } from '../../core/log.ts'
import { guardedFetch } from '../../kinds/http/network/guarded-agent.ts'
import { boundedFetch } from '../../mcp/client/bounded-fetch.ts'
import { HttpProblem } from './problem.ts'

const TIMEOUT_MS = 10_000
/** After a failure, an endpoint of the issuer is not asked again for so long: anyone can send tokens. */
const PAUSE_MS = 5_000
/** While the issuer fails, its signing keys count for so long after they were read. */
const STALE_KEYS_MS = 3_600_000
const METADATA_MS = 3_600_000
/** A verified token is not verified again for so long. A withdrawn signing key counts until then. */
const VERIFIED_MS = 300_000
// Used as `maxSize`: `max` would reserve the memory at the start.
const MAX_VERIFIED = 10_000
const TOLERANCE_S = CLOCK_TOLERANCE_MS / 1_000
const MAX_NAME_LENGTH = 100
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

export const SIGN_IN_SCOPE = 'openid profile'

type Claims = Readonly<Record<string, unknown>>
type Fetch = (url: string, init: RequestInit) => Promise<Response>
/** A failure of one says nothing about the others. */
type Endpoint = 'discovery' | 'keys' | 'token'

/** What the browser keeps between the start and the end of a sign-in. */
export interface SignInSecrets {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** Why a user can't sign in. */
export type SignInFault = 'expired' | 'no_role' | 'no_tenant' | 'refused' | 'unavailable'

export class SignInError extends Error {
  readonly fault: SignInFault

  constructor(fault: SignInFault, message: string) {
    super(message)
    this.fault = fault
  }

  /** As an answer to a request with a token. */
  problem(challenge: string): HttpProblem {
    const { fault, message } = this
    if (fault === 'unavailable') {
      return new HttpProblem(503, 'The token could not be checked', message, { 'retry-after': '5' })
    }
    const title = 'The token is not valid here'
    if (fault !== 'refused' && fault !== 'expired') return new HttpProblem(403, title, message)
    return new HttpProblem(401, title, message, { 'www-authenticate': challenge })
  }
}

interface Verified {
  readonly caller: Caller
  readonly audiences: readonly string[]
  readonly issuedAt: number
  readonly until: number
}

/** The configured OpenID Connect issuer: verifies access tokens, and signs users of the web UI in. */
export class Issuer {
  readonly settings: OidcConfig
  readonly #installation: Installation
  readonly #fetches: Readonly<Record<Endpoint, Fetch>>
  readonly #verified = new LRUCache<string, Verified>({ maxSize: MAX_VERIFIED, sizeCalculation: () => 1 })
  #metadata: { readonly found: Promise<AuthorizationServer>; readonly until: number } | undefined
  readonly #pausedUntil = new Map<Endpoint, number>()
  #keys: { readonly text: string; readonly at: number } | undefined

  constructor(settings: OidcConfig, installation: Installation) {
    this.settings = settings
    this.#installation = installation
    const send = boundedFetch(guardedFetch(new URL(settings.issuer), installation.config.http?.allow_private))
    const to =
      (endpoint: Endpoint): Fetch =>
      async (url, init) => {
        const { clock, log } = installation
        if (clock.now() < (this.#pausedUntil.get(endpoint) ?? 0)) throw unavailable()
        try {
          const response = await send(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })
          if (response.status < 500) return response
          throw new Error(`it answered with status ${response.status}`)
        } catch (error) {
          this.#pausedUntil.set(endpoint, clock.now() + PAUSE_MS)
          const { message } = error as Error
          const details = { issuer: settings.issuer, endpoint, problem: message }
          writeLog(log, 'warn', details, 'The OpenID Connect issuer failed')
          throw unavailable()
        }
      }
    const keys = to('keys')
    this.#fetches = {
      discovery: to('discovery'),
      token: to('token'),
      keys: (...request) => this.#keysBy(keys, request),
    }
  }

  /** The signing keys, or the last ones while the issuer fails. */
  async #keysBy(fetch: Fetch, request: Parameters<Fetch>): Promise<Response> {
    const now = this.#installation.clock.wall()
    try {
      const response = await fetch(...request)
      const text = await response.text()
      if (response.status === 200 && isKeySet(text)) this.#keys = { text, at: now }
      else if (this.#keys === undefined) return new Response(text, response)
    } catch (error) {
      if (this.#keys === undefined) throw error
    }
    const { text, at } = this.#keys
    if (now - at >= STALE_KEYS_MS) throw unavailable()
    return new Response(text, { headers: { 'content-type': 'application/json' } })
  }

  /** Whether a text may be a token, and not a key. */
  static isToken(text: string): boolean {
    return JWT.test(text)
  }

  /** The caller of a token that was verified before, and is for this path. */
  known(token: string, path?: string): Caller | undefined {
    const known = this.#verified.get(hash('sha256', token))
    if (known === undefined || known.until <= this.#installation.clock.wall()) return undefined
    if (this.#audienceOf(known.audiences, path) === undefined) return undefined
    return this.#installation.callers.isRevoked(known.caller.id, known.issuedAt) ? undefined : known.caller
  }

  /** Verifies an access token (RFC 9068) for a path of MCP, or for all others. Rejects with a SignInError. */
  async verify(token: string, path?: string): Promise<Caller> {
    const oauth = await import('oauth4webapi')
    const server = await this.#server()
    // The library takes the token from a request.
    const request = new Request(this.settings.issuer, { headers: { authorization: `Bearer ${token}` } })
    const audience = this.#audienceOf(audiencesOf(unverified(token)), path)
    if (audience === undefined) throw new SignInError('refused', 'it is for another audience')
    const claims = await oauth
      .validateJwtAccessToken(server, request, audience, {
        ...(await this.#options('keys')),
        [oauth.clockSkew]: this.#skew(),
        [oauth.clockTolerance]: TOLERANCE_S,
      })
      .catch((error: unknown) => {
        throw faultOf(error)
      })
    const now = this.#installation.clock.wall()
    const expiresAt = (claims.exp + TOLERANCE_S) * 1_000
    const caller = await this.#callerOf(claims, expiresAt)
    this.#verified.set(hash('sha256', token), {
      caller,
      audiences: audiencesOf(claims),
      issuedAt: issuedAt(claims),
      until: Math.min(expiresAt, now + VERIFIED_MS),
    })
    return caller
  }

  /** The audience by which a token counts at a path. Those of `/mcp/<name>` count there only. */
  #audienceOf(audiences: readonly string[], path: string | undefined): string | undefined {
    const { public_url } = this.#installation.config.server ?? {}
    const own = public_url === undefined || path === undefined ? undefined : `${public_url}${path}`
    const allowed = [this.settings.audience].flat().filter((one) => [undefined, path].includes(partOf(one)))
    return audiences.find((one) => one === own || allowed.includes(one))
  }

  /** The address at the issuer where a user signs in. */
  async signInUrl(redirectUri: string): Promise<{ readonly url: string; readonly secrets: SignInSecrets }> {
    const oauth = await import('oauth4webapi')
    const { authorization_endpoint } = await this.#server()
    if (authorization_endpoint === undefined) throw unavailable('it has no authorization endpoint')
    const secrets = {
      state: oauth.generateRandomState(),
      nonce: oauth.generateRandomNonce(),
      verifier: oauth.generateRandomCodeVerifier(),
    }
    const url = new URL(authorization_endpoint)
    const parameters = {
      client_id: this.settings.client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: SIGN_IN_SCOPE,
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(secrets.verifier),
      code_challenge_method: 'S256',
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return { url: url.href, secrets }
  }

  /** The user whom the issuer has sent back. Rejects with a SignInError. */
  async finish(answer: URLSearchParams, secrets: SignInSecrets, redirectUri: string): Promise<Caller> {
    const oauth = await import('oauth4webapi')
    const server = await this.#server()
    const client: Client = {
      client_id: this.settings.client_id,
      [oauth.clockSkew]: this.#skew(),
      [oauth.clockTolerance]: TOLERANCE_S,
    }
    const secret = this.#secret()
    const authentication = secret === undefined ? oauth.None() : oauth.ClientSecretBasic(secret)
    try {
      const parameters = oauth.validateAuthResponse(server, client, answer, secrets.state)
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        authentication,
        parameters,
        redirectUri,
        secrets.verifier,
        await this.#options('token'),
      )
      const checks = { expectedNonce: secrets.nonce, requireIdToken: true }
      const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, checks)
      await oauth.validateApplicationLevelSignature(server, response, await this.#options('keys'))
      const claims = oauth.getValidatedIdTokenClaims(tokens) as Claims
      return await this.#callerOf(claims, Number.POSITIVE_INFINITY)
    } catch (error) {
      throw faultOf(error)
    }
  }

  /** Maps claims to a tenant and a role, and remembers the user. */
  async #callerOf(claims: Claims, expiresAt: number): Promise<Caller> {
    const { tenant_claim, role_claim, roles } = this.settings
    const { callers, storage, log } = this.#installation
    const subject = claims.sub
    if (
      typeof subject !== 'string' ||
      subject === '' ||
      subject.length > MAX_SUBJECT_LENGTH ||
      !subject.isWellFormed()
    ) {
      throw new SignInError('refused', 'its claim "sub" is not valid')
    }
    const tenant = claimOf(claims, tenant_claim)
    if (typeof tenant !== 'string' || !TENANT_NAME.test(tenant)) {
      throw new SignInError('no_tenant', `its claim "${tenant_claim}" has no valid name of a tenant`)
    }
    const values = [claimOf(claims, role_claim)].flat()
    const [claim, role] = Object.entries(roles).find(([value]) => values.includes(value)) ?? []
    const issued_at = issuedAt(claims)
    if (callers.isRevoked(userId(tenant, subject), issued_at)) {
      throw new SignInError('refused', 'an administrator has signed the user out since: sign in again')
    }
    const store = (user: Parameters<typeof storage.keys.putUser>[0]) =>
      storage.keys.putUser(user).catch((err: unknown) => writeLog(log, 'error', { err }, 'A user could not be stored'))
    if (claim === undefined || role === undefined) throw noRole(role_claim)
    const basis = basisOf(this.settings, claim)
    const user = { tenant, subject, name: nameOf(claims, subject), role, basis, issued_at }
    const caller = await callers.signIn(user, expiresAt, store)
    if (caller === undefined) throw noRole(role_claim)
    return caller
  }

  /** The discovery document. An older one is used while the issuer can't be reached. */
  async #server(): Promise<AuthorizationServer> {
    const now = this.#installation.clock.now()
    const before = this.#metadata
    if (before !== undefined && now < before.until) return before.found
    // Requests that come meanwhile get the older one as well, if this fails.
    const found = this.#discover().catch((error: unknown) => {
      this.#metadata = before && { ...before, until: this.#installation.clock.now() + PAUSE_MS }
      if (before === undefined) throw error
      return before.found
    })
    this.#metadata = { found, until: now + METADATA_MS }
    return found
  }

  async #discover(): Promise<AuthorizationServer> {
    const oauth = await import('oauth4webapi')
    const issuer = new URL(this.settings.issuer)
    try {
      const response = await oauth.discoveryRequest(issuer, await this.#options('discovery'))
      return await oauth.processDiscoveryResponse(issuer, response)
    } catch (error) {
      if (error instanceof SignInError) throw error
      const { log, clock } = this.#installation
      this.#pausedUntil.set('discovery', clock.now() + PAUSE_MS)
      const problem = (error as Error).message
      writeLog(log, 'warn', { issuer: issuer.href, problem }, 'The OpenID Connect issuer has no usable configuration')
      throw unavailable()
    }
  }

  async #options(endpoint: Endpoint) {
    const oauth = await import('oauth4webapi')
    return {
      [oauth.customFetch]: this.#fetches[endpoint] as never,
      // The configuration allows http for issuers on this machine only.
      [oauth.allowInsecureRequests]: this.settings.issuer.startsWith('http:'),
    }
  }

  /** The library reads the system's clock. */
  #skew(): number {
    return Math.round((this.#installation.clock.wall() - Date.now()) / 1_000)
  }

  #secret(): string | undefined {
    const { client_secret } = this.settings
    if (client_secret === undefined) return undefined
    const { env } = this.#installation
    const problem = variableProblem(client_secret, env)
    if (problem !== undefined) throw unavailable(`auth.oidc.client_secret: ${problem}`)
    return expandVariables(client_secret, env).text
  }
}

const unavailable = (why = 'the issuer does not answer; try again later, or use an API key'): SignInError =>
  new SignInError('unavailable', why)

function isKeySet(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text)?.keys)
  } catch {
    return false
  }
}

/** The path of a part of the tools, if an audience is one, however the configuration spells it. */
function partOf(audience: string): string | undefined {
  if (!/^https?:/i.test(audience)) return undefined
  const path = pathOf(audience).replaceAll(/\/+/g, '/').replace(/\/$/, '')
  return path.startsWith('/mcp/') ? path : undefined
}

function pathOf(url: string): string {
  try {
    return decodeURIComponent(new URL(url).pathname)
  } catch {
    // No path: this audience counts nowhere.
    return '/mcp//'
  }
}

const audiencesOf = ({ aud }: Claims): readonly string[] => [aud].flat().filter((one) => typeof one === 'string')

/** Only to choose what to verify. */
function unverified(token: string): Claims {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) ?? {}
  } catch {
    return {}
  }
}

const noRole = (claim: string): SignInError => new SignInError('no_role', `no role is mapped to its claim "${claim}"`)

const issuedAt = ({ iat }: Claims): number => Number(iat) * 1_000 || 0

/** A claim by its name, or by its path such as `realm_access.roles`. */
function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  return name
    .split('.')
    .reduce<unknown>(
      (at, step) =>
        typeof at === 'object' && at !== null && Object.hasOwn(at, step) ? (at as Claims)[step] : undefined,
      claims,
    )
}

function nameOf({ name, preferred_username, email }: Claims, subject: string): string {
  const given = [name, preferred_username, email, subject].find((one) => typeof one === 'string' && one.trim() !== '')
  return String(given)
    .replace(/\p{Cc}/gu, ' ')
    .toWellFormed()
    .slice(0, MAX_NAME_LENGTH)
}

const REASONS: Readonly<Record<string, string>> = {
  OAUTH_KEY_SELECTION_FAILED: 'the issuer has no such signing key',
  OAUTH_UNSUPPORTED_OPERATION: 'its algorithm is not supported',
}
const CLAIM_REASONS: Readonly<Record<string, string>> = {
  exp: 'it has expired',
  iss: 'it is from another issuer',
  nbf: 'it is not valid yet',
}

/** The errors of the library contain the token: only fixed texts are passed on. */
function faultOf(error: unknown): SignInError {
  if (error instanceof SignInError) return error
  const { code = '', cause } = error as { readonly code?: string; readonly cause?: { readonly claim?: unknown } }
  // The answer of the issuer itself is wrong.
  if (/NOT_CONFORM|NOT_JSON|METADATA|FORBIDDEN/.test(code)) return unavailable()
  const claim = String(cause?.claim ?? '')
  const why = CLAIM_REASONS[claim] ?? REASONS[code] ?? 'its form or its signature is wrong'
  return new SignInError(claim === 'exp' ? 'expired' : 'refused', why)
}
