import { createPrivateKey } from 'node:crypto'
import {
  auth,
  computeScopeUnion,
  createPrivateKeyJwtAuth,
  extractWWWAuthenticateParams,
  type FetchLike,
  isStrictScopeSuperset,
  type OAuthClientProvider,
  OAuthError,
  RegistrationRejectedError,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { connectionCode } from '../../core/failure.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { AuthorizationFailure } from '../client/failures.ts'
import type {
  HttpReach,
  HttpServerSettings,
  McpServerSettings,
  OAuthClientSettings,
  TokenSupply,
} from '../client/server-settings.ts'
import { checkIssuer, OAuthProvider, type OAuthProviderOptions, registeredClient } from './oauth-provider.ts'
import type { TokenFile } from './token-file.ts'

/** Gets tokens for the client itself, with its secret or key. They are stored in memory, because it can get new ones. */
function machineProvider(name: string, settings: OAuthClientSettings): OAuthClientProvider {
  const { clientId, privateKey } = settings
  const alg = privateKey && algorithmOf(privateKey)
  let tokens: StoredOAuthTokens | undefined
  return {
    redirectUrl: undefined,
    clientMetadata: { client_name: 'Toolyard', redirect_uris: [], grant_types: ['client_credentials'] },
    ...(privateKey &&
      alg && {
        addClientAuthentication: createPrivateKeyJwtAuth({ issuer: clientId, subject: clientId, privateKey, alg }),
      }),
    clientInformation: (found) => registeredClient(settings, found?.issuer),
    tokens: () => tokens,
    saveTokens: (given) => {
      tokens = given
    },
    prepareTokenRequest: (scope) => new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) }),
    saveDiscoveryState: (state) => checkIssuer(name, settings, state),
    redirectToAuthorization: () => {},
    saveCodeVerifier: () => {},
    codeVerifier: () => '',
  }
}

function algorithmOf(pem: string): string {
  const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem)
  if (asymmetricKeyType === 'rsa') return 'RS256'
  return asymmetricKeyDetails?.namedCurve === 'secp384r1' ? 'ES384' : 'ES256'
}

interface TokenSource {
  tokens(): Promise<StoredOAuthTokens | undefined>
  /** For one authorization or refresh; with a scope, for tokens with a wider scope. */
  provider(widerScope?: string): OAuthClientProvider & { readonly address?: string | undefined; isStranger?: boolean }
}

/** Tokens of a user, in a file that all processes share. */
const personTokens = (options: Omit<OAuthProviderOptions, 'resume' | 'widerScope'>): TokenSource => ({
  tokens: async () => (await options.file.read(options.url))?.tokens,
  provider: (widerScope) => new OAuthProvider({ ...options, ...(widerScope !== undefined && { widerScope }) }),
})

function machineTokens(name: string, client: OAuthClientSettings): TokenSource {
  const provider = machineProvider(name, client)
  return { tokens: async () => provider.tokens(), provider: () => provider }
}

type UnauthorizedContext = Parameters<NonNullable<TokenSupply['onUnauthorized']>>[0]

const REQUEST_TIMEOUT_MS = 10_000

/** Provides the tokens for one server and renews them when they are refused. */
class ServerAuthorization implements TokenSupply {
  readonly #name: string
  readonly #url: URL
  readonly #fetch: FetchLike
  readonly #source: TokenSource
  #token: Promise<string | undefined> | undefined
  #renewal: Promise<void> | undefined
  #widening: Promise<void> | undefined

  constructor(name: string, url: string, fetch: FetchLike, source: TokenSource) {
    this.#name = name
    this.#url = new URL(url)
    this.#fetch = fetch
    this.#source = source
  }

  /** Ignores an unreadable file: the server may not need a token. */
  token(): Promise<string | undefined> {
    this.#token ??= this.#read().catch(() => undefined)
    return this.#token
  }

  /** Refused calls share one renewal, because a refresh token often works only once. */
  onUnauthorized(context: UnauthorizedContext): Promise<void> {
    this.#renewal ??= this.#renew(context).finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  /** Sends a refused request again if there is a newer token. */
  readonly fetch: FetchLike = async (url, init) => {
    const response = await this.#fetch(url, init)
    if (response.status !== 401 && response.status !== 403) return response
    const sent = bearerOf(init)
    // Requests to an authorization server on the same origin aren't repeated.
    if (sent === undefined && new URL(url).href !== this.#url.href) return response
    const newer = await this.#takeUp(sent)
    const answer = newer === undefined ? response : await this.#again(url, init, newer)
    if (answer.status !== 403 || !(await this.#widen(answer))) return answer
    return this.#again(url, init, (await this.token()) ?? '')
  }

  /** Starts an authorization for a wider scope; rejects with the address to open. */
  async authorize(scope: string | undefined, resourceMetadataUrl?: URL): Promise<void> {
    const granted = (await this.#source.tokens())?.scope
    const wanted = computeScopeUnion(granted, scope)
    if (wanted === undefined || !isStrictScopeSuperset(wanted, granted)) {
      throw new AuthorizationFailure(
        this.#name,
        'it refuses the request, although the tokens have the scope that it asks for',
      )
    }
    await this.#auth({ scope: wanted, resourceMetadataUrl, fetchFn: this.#fetch }, wanted)
    this.#token = undefined
  }

  /** Returns whether there is a token with a wider scope now. */
  async #widen(response: Response): Promise<boolean> {
    const { error, scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response)
    if (error !== 'insufficient_scope') return false
    this.#widening ??= this.authorize(scope, resourceMetadataUrl).finally(() => {
      this.#widening = undefined
    })
    await this.#widening
    return true
  }

  async #renew({ response, fetchFn }: UnauthorizedContext): Promise<void> {
    const refused = await this.token()
    // Another process may have renewed it meanwhile.
    if ((await this.#read()) === refused) await this.#auth({ ...extractWWWAuthenticateParams(response), fetchFn })
    this.#token = Promise.resolve(await this.#read())
  }

  async #auth(
    asked: { readonly scope?: string | undefined; readonly resourceMetadataUrl?: URL | undefined; fetchFn: FetchLike },
    widerScope?: string,
  ): Promise<void> {
    const { scope, resourceMetadataUrl, fetchFn } = asked
    const provider = this.#source.provider(widerScope)
    const options = {
      serverUrl: this.#url,
      fetchFn: boundedFetch(this.#url, fetchFn, this.#fetch),
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
      ...(scope && { scope }),
      forceReauthorization: widerScope !== undefined,
    }
    const result = await auth(provider, options).catch((error: unknown) => {
      throw authorizationFault(this.#name, error, provider.isStranger)
    })
    if (result === 'REDIRECT') {
      throw AuthorizationFailure.needed(this.#name, provider.address ?? '', widerScope !== undefined)
    }
  }

  /** Returns the stored token if it isn't the one that was sent. */
  async #takeUp(sent: string | undefined): Promise<string | undefined> {
    const now = await this.#read().catch(() => undefined)
    if (now === undefined || now === sent) return undefined
    this.#token = Promise.resolve(now)
    return now
  }

  #again(url: string | URL, init: RequestInit | undefined, token: string): Promise<Response> {
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${token}`)
    return this.#fetch(url, { ...init, headers })
  }

  async #read(): Promise<string | undefined> {
    return (await this.#source.tokens())?.access_token
  }
}

/** The authorization for a configured server: only for HTTP servers without an `Authorization` header. */
export function serverAuthorization(settings: McpServerSettings, file: TokenFile): ServerAuthorization | undefined {
  const { reach } = settings
  if (reach.type === 'stdio' || !URL.canParse(reach.url)) return undefined
  if (Object.keys(reach.headers).some((header) => header.toLowerCase() === 'authorization')) return undefined
  return authorizationAt(new URL(reach.url).href, { ...settings, reach }, file)
}

/** The authorization for a URL. `redirectUrl` is the address of the local listener. */
export function authorizationAt(
  url: string,
  { name, reach: { oauth: client, fetch } }: HttpServerSettings,
  file: TokenFile,
  redirectUrl?: string,
): ServerAuthorization {
  if (client?.isMachine) return new ServerAuthorization(name, url, fetch, machineTokens(name, client))
  const options = { name, url, file, ...(client && { client }), ...(redirectUrl !== undefined && { redirectUrl }) }
  return new ServerAuthorization(name, url, fetch, personTokens(options))
}

const bearerOf = (init: RequestInit | undefined): string | undefined =>
  new Headers(init?.headers).get('authorization')?.match(/^Bearer (.*)$/)?.[1]

/** Sends the configured headers to the server only, not to its authorization server. */
function boundedFetch({ origin }: URL, fetchFn: FetchLike, others: FetchLike): FetchLike {
  return (url, init) => {
    const own = new URL(url).origin === origin ? fetchFn : others
    return own(url, { ...init, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
  }
}

/** Describes an error without quoting responses, which may contain tokens. */
function authorizationFault(server: string, error: unknown, isStranger = false): unknown {
  if (error instanceof ToolExecutionError || connectionCode(error) !== undefined) return error
  return new AuthorizationFailure(server, `it requires authorization, and ${problemOf(server, error, isStranger)}`)
}

function problemOf(server: string, error: unknown, isStranger: boolean): string {
  const header = `set an Authorization header in mcpServers.${server}.headers`
  if (RegistrationRejectedError.isInstance(error)) return `does not let clients register (${error.status}): ${header}`
  if (isStranger) return `accepts only registered clients: add yours to mcpServers.${server}.oauth, or ${header}`
  if (OAuthError.isInstance(error) && /^[a-z_]{1,40}$/.test(error.code))
    return `its authorization server says ${error.code}`
  return `getting it failed: is its authorization server running? If it has none, ${header}`
}

/** Exchanges the answer to a pending authorization for tokens and stores them. Each answer works once. */
export async function finishAuthorization(
  { fetch, ...options }: Pick<OAuthProviderOptions, 'name' | 'url' | 'file'> & Pick<HttpReach, 'fetch'>,
  answer: URLSearchParams,
): Promise<void> {
  const { name, url, file } = options
  const pending = (await file.read(url))?.pending
  if (pending === undefined || answer.get('state') !== pending.state) {
    throw new AuthorizationFailure(
      name,
      `the answer does not match the pending authorization: run "toolyard mcp login ${name}"`,
    )
  }
  await file.update(url, ({ pending: _, ...rest } = {}) => rest)
  const code = answer.get('code')
  if (code === null) throw new AuthorizationFailure(name, `authorization was refused${errorOf(answer)}`)
  const serverUrl = new URL(url)
  const iss = answer.get('iss')
  await auth(new OAuthProvider({ ...options, resume: pending }), {
    serverUrl,
    authorizationCode: code,
    fetchFn: boundedFetch(serverUrl, fetch, fetch),
    ...(iss !== null && { iss }),
  }).catch((error: unknown) => {
    throw authorizationFault(name, error)
  })
}

/** Quotes only the error code: the sender of the answer wrote the rest. */
function errorOf(answer: URLSearchParams): string {
  const error = answer.get('error') ?? ''
  return /^[a-z_]{1,40}$/.test(error) ? ` (${error})` : ''
}
