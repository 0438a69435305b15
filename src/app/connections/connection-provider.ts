import type { AuthorizationServer, ClientAuth, TokenEndpointRequestOptions } from 'oauth4webapi'
import type { ConnectionConfig } from '../../config/connection-config.ts'
import { type Environment, expandVariables, variableProblem } from '../../core/environment.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'

const TIMEOUT_MS = 10_000
/** Servers reject requests with longer headers. */
const MAX_TOKEN_CHARACTERS = 16_000
const TOKEN = /^[\u0021-\u007e]+$/
const MAX_SCOPE_CHARACTERS = 2_000

export interface TokenSet {
  readonly access_token: string
  readonly refresh_token?: string | undefined
  /** In seconds. */
  readonly expires_in?: number | undefined
  readonly scope?: string | undefined
}

/** The provider answered, and gave no token. `error` is a code of OAuth; texts of the provider are not passed on. */
export class TokensRefused extends Error {
  readonly error: string

  constructor(error: unknown) {
    super('The provider gave no token')
    this.error = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? error : 'unknown'
  }
}

interface ProviderParts {
  readonly env: Environment
  readonly allowPrivate: readonly string[] | undefined
  readonly redirectUri: string
}

/**
 * The requests to one OAuth provider, which go through the network guard. They reject with `TokensRefused`, or
 * SERVICE_UNAVAILABLE if there is no answer.
 */
export class ConnectionProvider {
  readonly name: string
  readonly title: string
  readonly settings: ConnectionConfig
  readonly #parts: ProviderParts

  constructor(name: string, settings: ConnectionConfig, parts: ProviderParts) {
    this.name = name
    this.title = settings.title ?? name
    this.settings = settings
    this.#parts = parts
  }

  /** Where a user allows the access. */
  async authorizationUrl(state: string, verifier: string): Promise<string> {
    const oauth = await import('oauth4webapi')
    const { authorization_url, client_id, scopes = [], parameters } = this.settings
    const url = new URL(authorization_url)
    const all = {
      ...parameters,
      client_id,
      redirect_uri: this.#parts.redirectUri,
      response_type: 'code',
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }
    for (const [parameter, value] of Object.entries(all)) url.searchParams.set(parameter, value)
    return url.href
  }

  /** Takes what the browser of the user brings back. */
  async exchange(answer: URLSearchParams, state: string, verifier: string): Promise<TokenSet> {
    const oauth = await import('oauth4webapi')
    // The redirect address is this provider's own, so that no other one can answer.
    const server = { ...this.#server, issuer: answer.get('iss') ?? this.#server.issuer }
    return this.#ask(async (client, authentication, options) => {
      const parameters = oauth.validateAuthResponse(server, client, answer, state)
      const { redirectUri: uri } = this.#parts
      return oauth.authorizationCodeGrantRequest(server, client, authentication, parameters, uri, verifier, options)
    })
  }

  async refresh(refreshToken: string): Promise<TokenSet> {
    const oauth = await import('oauth4webapi')
    return this.#ask((client, authentication, options) =>
      oauth.refreshTokenGrantRequest(this.#server, client, authentication, refreshToken, options),
    )
  }

  /** Returns false if the provider can't revoke tokens. */
  async revoke({ access_token, refresh_token }: TokenSet): Promise<boolean> {
    if (this.settings.revocation_url === undefined) return false
    const oauth = await import('oauth4webapi')
    const client = { client_id: this.settings.client_id }
    const [authentication, options] = [await this.#authentication(), await this.#options()]
    // Providers end the access token with its refresh token.
    const token = refresh_token ?? access_token
    const answer = await oauth.revocationRequest(this.#server, client, authentication, token, options)
    return answer.status === 200
  }

  get #server(): AuthorizationServer {
    const { token_url, revocation_url } = this.settings
    return {
      issuer: token_url,
      token_endpoint: token_url,
      ...(revocation_url !== undefined && { revocation_endpoint: revocation_url }),
    }
  }

  async #ask(
    send: (
      client: { readonly client_id: string },
      authentication: ClientAuth,
      options: TokenEndpointRequestOptions,
    ) => Promise<Response>,
  ): Promise<TokenSet> {
    const oauth = await import('oauth4webapi')
    const client = { client_id: this.settings.client_id }
    const [authentication, options] = [await this.#authentication(), await this.#options()]
    try {
      const response = onlyTokens(await send(client, authentication, options))
      const tokens = await oauth.processRefreshTokenResponse(this.#server, client, await response)
      const { access_token, refresh_token, expires_in, scope } = tokens
      const isFit = [access_token, refresh_token].every(
        (token) => token === undefined || (token.length <= MAX_TOKEN_CHARACTERS && TOKEN.test(token)),
      )
      if (!isFit || tokens.token_type !== 'bearer') throw new TokensRefused('unknown')
      return { access_token, refresh_token, expires_in, scope: scope?.slice(0, MAX_SCOPE_CHARACTERS) }
    } catch (error) {
      if (error instanceof ToolExecutionError || error instanceof TokensRefused) throw error
      throw new TokensRefused((error as { readonly error?: unknown }).error)
    }
  }

  async #authentication(): Promise<ClientAuth> {
    const oauth = await import('oauth4webapi')
    const { client_secret, client_auth } = this.settings
    if (client_secret === undefined) return oauth.None()
    const { env } = this.#parts
    const problem = variableProblem(client_secret, env)
    if (problem !== undefined) {
      throw new ToolExecutionError('EXECUTION_ERROR', `connections.${this.name}.client_secret: ${problem}`)
    }
    const secret = expandVariables(client_secret, env).text
    return client_auth === 'body' ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret)
  }

  async #options() {
    const oauth = await import('oauth4webapi')
    const { guardedFetch } = await import('../../kinds/http/network/guarded-agent.ts')
    const { boundedFetch } = await import('../../mcp/client/bounded-fetch.ts')
    const { token_url, revocation_url } = this.settings
    const fetch = async (url: string, init: RequestInit): Promise<Response> => {
      const send = boundedFetch(guardedFetch(new URL(url), this.#parts.allowPrivate))
      try {
        const response = await send(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
        if (response.status < 500) return response
      } catch {
        // Addresses and texts of others stay out of messages.
      }
      throw this.unavailable()
    }
    return {
      [oauth.customFetch]: fetch as never,
      // The configuration allows http for providers on this machine only.
      [oauth.allowInsecureRequests]: [token_url, revocation_url].some((url) => url?.startsWith('http:') === true),
    }
  }

  /** Nothing of the call was sent. */
  unavailable(): ToolExecutionError {
    const message = `Your account at ${this.title} can't be used now, because the provider does not answer: try again later`
    return new ToolExecutionError('SERVICE_UNAVAILABLE', message, {}, { repeat: { neverLeft: true } })
  }
}

/** Some providers add an id_token or null values, which the library rejects, or a challenge, which hides the body. */
async function onlyTokens(response: Response): Promise<Response> {
  const text = await response.text()
  let body = text
  try {
    const { access_token, token_type, expires_in, refresh_token, scope, error } = JSON.parse(text)
    const optional = Object.entries({ expires_in, refresh_token, scope, error }).filter(([, value]) => value !== null)
    body = JSON.stringify({ access_token, token_type, ...Object.fromEntries(optional) })
  } catch {
    // The library says what is wrong with it.
  }
  return new Response(body, { status: response.status, headers: { 'content-type': 'application/json' } })
}
