import { hash } from 'node:crypto'
import type { JWTVerifyGetKey } from 'jose'
import { LRUCache } from 'lru-cache'
import type { AuthorizationServer, Client } from 'oauth4webapi'
import type { Caller } from '../../app/callers/callers.ts'
import { TENANT_NAME } from '../../app/callers/tenants.ts'
import { basisOf, CLOCK_TOLERANCE_MS, MAX_SUBJECT_LENGTH, userId } from '../../app/callers/users.ts'
import type { Installation } from '../../app/installation.ts'
import type { OidcConfig } from '../../config/service-schema.ts'
import { expandVariables, variableProblem } from '../../core/environment.ts'
import { writeLog } from '../../core/log.ts'
import {
  ALGORITHMS,
  audiencesOf,
  checkAnswer,
  checkClaims,
  checkHeader,
  isJwt,
  otherAudience,
  readToken,
} from './access-token.ts'
import { type Claims, claimOf, isLeftOut, issuedAt, nameOf, valuesOf } from './claims.ts'
import { Introspection } from './introspection.ts'
import { IssuerEndpoints } from './issuer-endpoints.ts'
import { refused, SignInError, shownValue, unavailable } from './sign-in-error.ts'

const METADATA_MS = 3_600_000
/** While the issuer fails, its older configuration counts. */
const RETRY_MS = 5_000
const KEYS_MS = 300_000
/** Tokens with unknown keys may come from anyone. */
const KEYS_PAUSE_MS = 60_000
/** A verified token is not verified again for so long. A withdrawn signing key counts until then. */
const VERIFIED_MS = 300_000
// Used as `maxSize`: `max` would reserve the memory at the start.
const MAX_VERIFIED = 10_000
const TOLERANCE_S = CLOCK_TOLERANCE_MS / 1_000

export const SIGN_IN_SCOPE = 'openid profile'

/** What the browser keeps between the start and the end of a sign-in. */
export interface SignInSecrets {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

interface Verified {
  readonly caller: Caller
  readonly audiences: readonly string[]
  readonly issuedAt: number
  readonly until: number
}

/** The claims of a token that is valid now, for some audience. */
type Checked = Pick<Verified, 'audiences' | 'until'> & { readonly claims: Claims }

/** The configured OpenID Connect issuer: checks access tokens, and signs users of the web UI in. */
export class Issuer {
  readonly settings: OidcConfig
  readonly #installation: Installation
  readonly #endpoints: IssuerEndpoints
  readonly #introspection: Introspection | undefined
  readonly #verified = new LRUCache<string, Verified>({ maxSize: MAX_VERIFIED, sizeCalculation: () => 1 })
  #metadata: { readonly found: Promise<AuthorizationServer>; readonly until: number } | undefined
  #keys: { readonly uri: string; readonly find: JWTVerifyGetKey } | undefined

  constructor(settings: OidcConfig, installation: Installation) {
    this.settings = settings
    this.#installation = installation
    this.#endpoints = new IssuerEndpoints(settings, installation)
    const { introspection } = settings
    this.#introspection = introspection && new Introspection(introspection, installation, this.#endpoints)
  }

  /** Whether a text may be a token, and not a key. */
  takes(text: string): boolean {
    if (isJwt(text)) return true
    if (this.#introspection?.takes(text) !== true) return false
    // A key is not shown to the issuer, also not a former or a mistyped one.
    const { callers } = this.#installation
    return callers.former(text) === undefined && !callers.hasSecret(text)
  }

  /** The caller of a token that was verified before, and is for this path. */
  known(token: string, path?: string): Caller | undefined {
    const known = this.#verified.get(hash('sha256', token))
    if (known === undefined || known.until <= this.#installation.clock.wall()) return undefined
    if (this.#audienceOf(known.audiences, path) === undefined) return undefined
    return this.#installation.callers.isRevoked(known.caller.id, known.issuedAt) ? undefined : known.caller
  }

  /** Checks an access token for a path of MCP, or for all others. Rejects with a SignInError. */
  async verify(token: string, path?: string): Promise<Caller> {
    const id = hash('sha256', token)
    try {
      const { claims, audiences, until } = this.#introspection?.takes(token)
        ? await this.#introspected(token, id, this.#introspection)
        : await this.#verifiedJwt(token)
      if (this.#audienceOf(audiences, path) === undefined) {
        throw otherAudience(claims, this.settings.client_id, this.#audiencesAt(path))
      }
      const caller = await this.#callerOf(claims, (Number(claims.exp) + TOLERANCE_S) * 1_000)
      this.#verified.set(id, { caller, audiences, issuedAt: issuedAt(claims), until })
      return caller
    } catch (error) {
      throw this.#logged(error, 'A token was refused')
    }
  }

  async #verifiedJwt(token: string): Promise<Checked> {
    const { client_id, tokens = 'jwt' } = this.settings
    const server = await this.#server()
    const rules = { issuer: server.issuer, tokens }
    const read = readToken(token)
    checkHeader(read, rules)
    const jose = await import('jose')
    const keys = await this.#keysOf(server)
    await jose.compactVerify(token, keys, { algorithms: [...ALGORITHMS] }).catch((error: unknown) => {
      throw this.#signatureFault(error, read.header)
    })
    const { claims, header } = read
    const now = this.#installation.clock.wall()
    checkClaims(claims, rules, now)
    const until = Math.min((Number(claims.exp) + TOLERANCE_S) * 1_000, now + VERIFIED_MS)
    return { claims, audiences: audiencesOf(claims, client_id, header), until }
  }

  /** Why a signature doesn't count. */
  #signatureFault(error: unknown, { kid, alg }: Claims): Error {
    if (error instanceof SignInError) return error
    const { code = '', name } = error as { readonly code?: string; readonly name: string }
    if (/^ERR_(?:JWS|JOSE_ALG|JOSE_NOT)_/.test(code)) {
      return refused('its signature is wrong', { header: 'kid', actual: kid })
    }
    if (code === 'ERR_JWKS_NO_MATCHING_KEY') {
      return refused('the issuer has no such signing key', {
        header: kid === undefined ? 'alg' : 'kid',
        actual: kid ?? alg,
      })
    }
    if (code === 'ERR_JWKS_MULTIPLE_MATCHING_KEYS') {
      return refused('it does not say by which key it is signed', { header: 'kid', actual: kid })
    }
    return this.#endpoints.failed('keys', `a signing key can't be used: ${code || name}`, 0)
  }

  async #introspected(token: string, id: string, introspection: Introspection): Promise<Checked> {
    const server = await this.#server()
    const { claims, until } = await introspection.ask(token, id, server)
    checkAnswer(claims, server.issuer, this.#installation.clock.wall())
    return { claims, audiences: audiencesOf(claims, this.settings.client_id), until }
  }

  async #keysOf({ jwks_uri = '' }: AuthorizationServer): Promise<JWTVerifyGetKey> {
    if (this.#keys?.uri === jwks_uri) return this.#keys.find
    const jose = await import('jose')
    const url = URL.parse(jwks_uri)
    // As for the issuer: over http, anyone on the way could replace the keys.
    const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && this.settings.issuer.startsWith('http:'))
    if (url === null || !isSafe) throw this.#endpoints.failed('keys', 'it names no https address of its keys')
    const find = jose.createRemoteJWKSet(url, {
      [jose.customFetch]: this.#endpoints.fetch('keys'),
      cacheMaxAge: KEYS_MS,
      cooldownDuration: KEYS_PAUSE_MS,
    })
    this.#keys = { uri: jwks_uri, find }
    return find
  }

  /** Tells the operator which check failed. Users learn less. */
  #logged(error: unknown, message: string): SignInError {
    const fault = faultOf(error)
    if (fault.fault === 'unavailable') return fault
    const shown = Object.entries(fault.mismatch).map(([key, value]) => [key, shownValue(value)])
    const details = { problem: fault.message, ...Object.fromEntries(shown), issuer: this.settings.issuer }
    writeLog(this.#installation.log, 'warn', details, message)
    return fault
  }

  /** The audience by which a token counts at a path. Those of `/mcp/<name>` count there only. */
  #audienceOf(audiences: readonly string[], path: string | undefined): string | undefined {
    const allowed = this.#audiencesAt(path)
    return audiences.find((one) => allowed.includes(one))
  }

  #audiencesAt(path: string | undefined): readonly string[] {
    const { server, mcp } = this.#installation.config
    const own = server?.public_url === undefined || path === undefined ? [] : [`${server.public_url}${path}`]
    const parts = Object.keys(mcp?.servers_out ?? {}).map((name) => `/mcp/${name}`)
    const allowed = [this.settings.audience].flat().filter((one) => [undefined, path].includes(partOf(one, parts)))
    return [...own, ...allowed]
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
        await this.#endpoints.options('token'),
      )
      const checks = { expectedNonce: secrets.nonce, requireIdToken: true }
      const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, checks)
      await oauth.validateApplicationLevelSignature(server, response, await this.#endpoints.options('keys'))
      const claims = oauth.getValidatedIdTokenClaims(tokens) as Claims
      return await this.#callerOf(claims, Number.POSITIVE_INFINITY)
    } catch (error) {
      throw this.#logged(error, 'A sign-in was refused')
    }
  }

  /** Maps claims to a tenant and a role, and remembers the user. */
  async #callerOf(claims: Claims, expiresAt: number): Promise<Caller> {
    const { tenant_claim, role_claim, roles, user_claim = 'sub' } = this.settings
    const { callers, storage, log } = this.#installation
    const subject = claimOf(claims, user_claim)
    if (
      typeof subject !== 'string' ||
      subject === '' ||
      subject.length > MAX_SUBJECT_LENGTH ||
      !subject.isWellFormed()
    ) {
      throw refused(`its claim "${user_claim}" is not valid`, { claim: user_claim, expected: 'the id of a user' })
    }
    const tenant = claimOf(claims, tenant_claim)
    if (typeof tenant !== 'string' || !TENANT_NAME.test(tenant)) {
      const mismatch = { claim: tenant_claim, expected: 'the name of a tenant', actual: tenant }
      throw new SignInError('no_tenant', `its claim "${tenant_claim}" has no valid name of a tenant`, mismatch)
    }
    const values = valuesOf(claims, role_claim)
    const [claim, role] = Object.entries(roles).find(([value]) => values.has(value)) ?? []
    const noRole = () => this.#noRole(claims, values)
    const issued_at = issuedAt(claims)
    if (callers.isRevoked(userId(tenant, subject), issued_at)) {
      throw new SignInError('refused', 'an administrator has signed the user out since: sign in again')
    }
    const store = (user: Parameters<typeof storage.keys.putUser>[0]) =>
      storage.keys.putUser(user).catch((err: unknown) => writeLog(log, 'error', { err }, 'A user could not be stored'))
    if (claim === undefined || role === undefined) throw noRole()
    const basis = basisOf(this.settings, claim)
    const user = { tenant, subject, name: nameOf(claims, subject), role, basis, issued_at }
    const caller = await callers.signIn(user, expiresAt, store)
    if (caller === undefined) throw noRole()
    return caller
  }

  #noRole(claims: Claims, values: ReadonlySet<string>): SignInError {
    const { role_claim, roles } = this.settings
    const claim = [role_claim].flat().join('" or "')
    const why = isLeftOut(claims, role_claim) ? 'the issuer has left out' : 'no role is mapped to'
    const mismatch = { claim: role_claim, expected: Object.keys(roles), actual: [...values] }
    return new SignInError('no_role', `${why} its claim "${claim}"`, mismatch)
  }

  /** The discovery document. An older one is used while the issuer can't be reached. */
  async #server(): Promise<AuthorizationServer> {
    const now = this.#installation.clock.now()
    const before = this.#metadata
    if (before !== undefined && now < before.until) return before.found
    // Requests that come meanwhile get the older one as well, if this fails.
    const found = this.#discover().catch((error: unknown) => {
      this.#metadata = before && { ...before, until: this.#installation.clock.now() + RETRY_MS }
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
      const response = await oauth.discoveryRequest(issuer, await this.#endpoints.options('discovery'))
      return await oauth.processDiscoveryResponse(issuer, response)
    } catch (error) {
      if (error instanceof SignInError) throw error
      throw this.#endpoints.failed('discovery', `it has no usable configuration: ${(error as Error).message}`)
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

/** The path of a part of the tools, if an audience is one, however the configuration spells it, also behind a proxy's path. */
function partOf(audience: string, parts: readonly string[]): string | undefined {
  if (!/^https?:/i.test(audience)) return undefined
  const path = pathOf(audience).replaceAll(/\/+/g, '/').replace(/\/$/, '')
  return path.startsWith('/mcp/') ? path : parts.find((part) => path.endsWith(part))
}

function pathOf(url: string): string {
  try {
    return decodeURIComponent(new URL(url).pathname)
  } catch {
    // The path of no part: this audience counts nowhere.
    return '/mcp/%'
  }
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
  return new SignInError(claim === 'exp' ? 'expired' : 'refused', why, claim === '' ? {} : { claim })
}
