import type { CancelSignal } from '../../../core/cancellation.ts'
import type { HttpAuth } from '../definition/http-implementation.ts'
import { SecretValues } from '../definition/secret-values.ts'
import {
  hasControlCharacter,
  isHeaderName,
  isHeaderValue,
  isOfTheConnection,
  type OutgoingRequest,
  withQuery,
} from '../exchange/outgoing-request.ts'
import { type AccessToken, type Ask, askForToken, TokenFailure } from './ask-for-token.ts'
import { type OAuthClient, oauthClient, unfitAuth } from './oauth-client.ts'
import type { AccessTokens, TokenSource } from './token-source.ts'

/** Compiles the authentication of a tool. Throws if a setting can't be sent, without quoting its value. */
export function compileAuth(auth: HttpAuth | undefined, parts: AuthParts): AuthPlan {
  const { tool, secrets } = parts
  if (auth === undefined) return new FixedAuth(secrets, (request) => request)
  switch (auth.type) {
    case 'bearer':
      secrets.add(auth.token)
      return inHeader(parts, 'authorization', `Bearer ${sendable(tool, 'auth.token', auth.token)}`)
    case 'api_key':
      secrets.add(auth.value)
      if (auth.in === 'query') return inQuery(parts, auth.name, filled(tool, 'auth.value', auth.value))
      return inHeader(parts, headerName(tool, auth.name), sendable(tool, 'auth.value', auth.value))
    case 'basic':
      return inHeader(parts, 'authorization', `Basic ${basic(tool, auth.username, auth.password, secrets)}`)
    case 'oauth2':
      secrets.add(auth.client_secret)
      return new TokenAuth(oauthClient(tool, auth), parts)
    default:
      throw unfitAuth(tool, 'auth.type', 'must be "bearer", "api_key", "basic" or "oauth2"')
  }
}

function inHeader({ secrets }: AuthParts, name: string, value: string): AuthPlan {
  const names = [name]
  const write = (request: OutgoingRequest): OutgoingRequest => ({
    ...request,
    headers: { ...request.headers, [name]: value },
    credentials: request.credentials === undefined ? names : [...request.credentials, name],
  })
  return new FixedAuth(secrets, write)
}

function inQuery({ secrets }: AuthParts, name: string, value: string): AuthPlan {
  // Replaces an existing key: the URL of a next page may contain it.
  const write = (request: OutgoingRequest): OutgoingRequest => ({
    ...request,
    path: withQuery(request.path, name, value),
  })
  return new FixedAuth(secrets, write)
}

function basic(tool: string, username: string, password: string, secrets: SecretValues): string {
  if (username.includes(':')) throw unfitAuth(tool, 'auth.username', 'holds a colon, which ends it')
  for (const [key, value] of Object.entries({ username, password })) {
    if (hasControlCharacter(value))
      throw unfitAuth(tool, `auth.${key}`, 'holds a line break or another control character')
  }
  secrets.add(password)
  secrets.add(`${username}:${password}`)
  // Some APIs take the key as the user name, with an empty or dummy password.
  if (!SecretValues.isLongEnough(password)) secrets.add(username)
  return Buffer.from(`${username}:${password}`).toString('base64')
}

function headerName(tool: string, name: string): string {
  if (!isHeaderName(name)) throw unfitAuth(tool, 'auth.name', 'is not the name of a header')
  if (!isOfTheConnection(name.toLowerCase())) return name.toLowerCase()
  throw unfitAuth(tool, 'auth.name', 'is a header of the connection, which carries no key')
}

function sendable(tool: string, key: string, value: string): string {
  if (isHeaderValue(filled(tool, key, value))) return value
  throw unfitAuth(tool, key, 'holds a line break or another character that no header can carry')
}

function filled(tool: string, key: string, value: string): string {
  if (value !== '') return value
  throw unfitAuth(tool, key, 'is empty')
}

/** Sends the same credentials with every request. */
class FixedAuth implements AuthPlan {
  readonly #secrets: SecretValues
  readonly #write: (request: OutgoingRequest) => OutgoingRequest

  constructor(secrets: SecretValues, write: (request: OutgoingRequest) => OutgoingRequest) {
    this.#secrets = secrets
    this.#write = write
  }

  apply(request: OutgoingRequest): OutgoingRequest {
    return this.#write(request)
  }

  secretsOf(): SecretValues {
    return this.#secrets
  }

  refused(): boolean {
    return false
  }
}

/** What authentication needs from its tool and the installation. */
export interface AuthParts {
  readonly tool: string
  /** The secrets of the tool; credentials are added to them. */
  readonly secrets: SecretValues
  /** Shared by the installation. */
  readonly tokens: AccessTokens
  /** Why a configured URL is blocked; undefined if it is allowed. */
  refusal(url: URL): string | undefined
  /** Sends a token request with the usual checks and limits. */
  readonly ask: Ask
}

/** Authenticates the requests of one tool. */
export interface AuthPlan {
  /**
   * Adds credentials to a request. Returns a promise only if a token must be requested first.
   */
  apply(request: OutgoingRequest, tenant: string, signal?: CancelSignal): OutgoingRequest | Promise<OutgoingRequest>
  /** The secrets to remove from the response to a request. */
  secretsOf(sent: OutgoingRequest): SecretValues
  /**
   * Called if the service responded with 401. Returns whether the request should be sent again with new credentials.
   */
  refused(sent: OutgoingRequest, tenant: string): boolean
}

/** A request with the token it uses. */
interface TokenRequest extends OutgoingRequest {
  readonly token?: AccessToken
}

/** Authenticates with an OAuth token, renewed when it expires or is refused. */
class TokenAuth implements AuthPlan {
  readonly #tool: string
  readonly #source: TokenSource
  readonly #ask: (signal: AbortSignal) => Promise<AccessToken>
  readonly #secrets: SecretValues
  readonly #tokenSecrets = new WeakMap<AccessToken, SecretValues>()

  /** Throws if the token URL is blocked by network policy. */
  constructor(client: OAuthClient, { tool, secrets, tokens, refusal, ask }: AuthParts) {
    const refused = refusal(client.url)
    if (refused !== undefined) throw new TokenFailure('EXECUTION_ERROR', refused).of(tool)
    this.#tool = tool
    this.#secrets = secrets
    this.#source = tokens.of(client)
    this.#ask = (signal) => askForToken(client, ask, tokens.clock, signal)
  }

  apply(request: OutgoingRequest, tenant: string, signal?: CancelSignal): OutgoingRequest | Promise<OutgoingRequest> {
    const token = this.#source.held(tenant)
    return token === undefined ? this.#applyNew(request, tenant, signal) : withToken(request, token)
  }

  secretsOf(sent: TokenRequest): SecretValues {
    if (sent.token === undefined) return this.#secrets
    const known = this.#tokenSecrets.get(sent.token)
    if (known !== undefined) return known
    // Only this token: the secrets searched in every response must not grow with the number of tenants.
    const secrets = new SecretValues([sent.token.value], this.#secrets)
    this.#tokenSecrets.set(sent.token, secrets)
    return secrets
  }

  refused({ token }: TokenRequest, tenant: string): boolean {
    if (token === undefined) return false
    this.#source.drop(tenant, token)
    // If the token was new, another one wouldn't help.
    return token.uses > 1
  }

  async #applyNew(request: OutgoingRequest, tenant: string, signal: CancelSignal | undefined): Promise<TokenRequest> {
    try {
      return withToken(request, await this.#source.obtain(tenant, this.#ask, signal))
    } catch (thrown) {
      throw thrown instanceof TokenFailure ? thrown.of(this.#tool) : thrown
    }
  }
}

function withToken(request: OutgoingRequest, token: AccessToken): TokenRequest {
  token.uses++
  return { ...request, headers: { ...request.headers, authorization: token.header }, token }
}
