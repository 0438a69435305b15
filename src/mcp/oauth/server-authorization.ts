import { createPrivateKey } from 'node:crypto'
import {
  auth,
  computeScopeUnion,
  createPrivateKeyJwtAuth,
  extractWWWAuthenticateParams,
  type FetchLike,
  isStrictScopeSuperset,
  type OAuthClientInformationContext,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  OAuthError,
  RegistrationRejectedError,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { connectionCode } from '../../core/network-code.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { McpServerSettings, OAuthClientSettings } from '../client/server-settings.ts'
import type { TokenSupply } from '../client/token-supply.ts'
import { AuthorizationFailure } from './authorization-failure.ts'
import { OAuthProvider, type OAuthProviderOptions, wantsOf } from './oauth-provider.ts'
import { checkIssuer, registeredClient } from './registered-client.ts'
import type { TokenFile } from './token-file.ts'

/** Gets tokens for the client itself, by its secret or its key; they are kept in memory, for they can be had again. */
class MachineProvider implements OAuthClientProvider {
  readonly redirectUrl = undefined
  readonly clientMetadata: OAuthClientMetadata = {
    client_name: 'Toolyard',
    redirect_uris: [],
    grant_types: ['client_credentials'],
  }
  readonly addClientAuthentication?: NonNullable<OAuthClientProvider['addClientAuthentication']>
  readonly #name: string
  readonly #settings: OAuthClientSettings
  #tokens: StoredOAuthTokens | undefined

  constructor(name: string, settings: OAuthClientSettings) {
    const { clientId, privateKey } = settings
    this.#name = name
    this.#settings = settings
    if (privateKey === undefined) return
    const alg = algorithmOf(privateKey)
    this.addClientAuthentication = createPrivateKeyJwtAuth({ issuer: clientId, subject: clientId, privateKey, alg })
  }

  clientInformation(found?: OAuthClientInformationContext): StoredOAuthClientInformation {
    return registeredClient(this.#settings, found?.issuer)
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens
  }

  prepareTokenRequest(scope?: string): URLSearchParams {
    return new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) })
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    checkIssuer(this.#name, this.#settings, state)
  }

  redirectToAuthorization(): void {}

  saveCodeVerifier(): void {}

  codeVerifier(): string {
    return ''
  }
}

/** A key says itself what it signs with. */
function algorithmOf(pem: string): string {
  const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem)
  if (asymmetricKeyType === 'rsa') return 'RS256'
  return asymmetricKeyDetails?.namedCurve === 'secp384r1' ? 'ES384' : 'ES256'
}

/** Where the tokens for one server are kept, and how new ones are got. */
interface TokenSource {
  tokens(): Promise<StoredOAuthTokens | undefined>
  /** For one authorization or refresh; with a scope, for tokens that give more than those that are there. */
  provider(widerScope?: string): OAuthClientProvider & { readonly address?: string | undefined; isStranger?: boolean }
}

/** Tokens that somebody logs in for: in the file, where all processes find them. */
const personTokens = (options: Omit<OAuthProviderOptions, 'resume' | 'widerScope'>): TokenSource => ({
  tokens: async () => (await options.file.read(options.url))?.tokens,
  provider: (widerScope) => new OAuthProvider({ ...options, ...(widerScope !== undefined && { widerScope }) }),
})

/** Tokens that the client gets by itself. */
function machineTokens(name: string, client: OAuthClientSettings): TokenSource {
  const provider = new MachineProvider(name, client)
  return { tokens: async () => provider.tokens(), provider: () => provider }
}

type UnauthorizedContext = Parameters<NonNullable<TokenSupply['onUnauthorized']>>[0]

/** How long an authorization server may take for one answer. */
const PATIENCE_MS = 10_000

/** The tokens for one server: handed out, and renewed when they are refused, once for all who wait for that. */
export class ServerAuthorization implements TokenSupply {
  readonly #name: string
  readonly #url: URL
  readonly #source: TokenSource
  #token: Promise<string | undefined> | undefined
  #renewal: Promise<void> | undefined
  #widening: Promise<void> | undefined

  constructor(name: string, url: string, source: TokenSource) {
    this.#name = name
    this.#url = new URL(url)
    this.#source = source
  }

  /** A file that cannot be read is the trouble of servers that want a token, and of no others. */
  token(): Promise<string | undefined> {
    this.#token ??= this.#read().catch(() => undefined)
    return this.#token
  }

  /** A refresh token is often good for one use only, so calls that are refused together are helped together. */
  onUnauthorized(context: UnauthorizedContext): Promise<void> {
    this.#renewal ??= this.#renew(context).finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  /** A request that was refused for its token is sent again where there is another by now. */
  readonly fetch: FetchLike = async (url, init) => {
    const response = await fetch(url, init)
    if (response.status !== 401 && response.status !== 403) return response
    const sent = bearerOf(init)
    // What goes to an authorization server at the same origin is none of this.
    if (sent === undefined && new URL(url).href !== this.#url.href) return response
    const newer = await this.#takeUp(sent)
    const answer = newer === undefined ? response : await again(url, init, newer)
    if (answer.status !== 403 || !(await this.#widen(answer))) return answer
    return again(url, init, (await this.token()) ?? '')
  }

  /** Begins an authorization for more than the tokens give that there are; rejects with what somebody has to open. */
  async authorize(scope: string | undefined, resourceMetadataUrl?: URL): Promise<void> {
    const granted = (await this.#source.tokens())?.scope
    const wanted = computeScopeUnion(granted, scope)
    if (wanted === undefined || !isStrictScopeSuperset(wanted, granted)) {
      throw new AuthorizationFailure(this.#name, 'it refuses this, although it was granted all that it asks for')
    }
    await this.#auth({ scope: wanted, resourceMetadataUrl, fetchFn: fetch }, wanted)
    this.#token = undefined
  }

  /** Says whether there is a token now that gives more. */
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
    // Another process may have refreshed it, or somebody has logged in.
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
      fetchFn: boundedFetch(this.#url, fetchFn),
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
      ...(scope && { scope }),
      forceReauthorization: widerScope !== undefined,
    }
    const result = await auth(provider, options).catch((error: unknown) => {
      throw authorizationFault(this.#name, error, provider.isStranger)
    })
    if (result === 'REDIRECT') {
      throw AuthorizationFailure.needed(this.#name, provider.address ?? '', wantsOf(widerScope))
    }
  }

  /** The token that there is now, where it is not the one that was sent. */
  async #takeUp(sent: string | undefined): Promise<string | undefined> {
    const now = await this.#read().catch(() => undefined)
    if (now === undefined || now === sent) return undefined
    this.#token = Promise.resolve(now)
    return now
  }

  async #read(): Promise<string | undefined> {
    return (await this.#source.tokens())?.access_token
  }
}

/** The authorization for a server of the configuration: HTTP servers have one, unless the configuration brings a header. */
export function serverAuthorization(settings: McpServerSettings, file: TokenFile): ServerAuthorization | undefined {
  const { reach } = settings
  if (reach.type === 'stdio' || !URL.canParse(reach.url)) return undefined
  if (Object.keys(reach.headers).some((header) => header.toLowerCase() === 'authorization')) return undefined
  return authorizationAt(new URL(reach.url).href, settings, file)
}

/** The same for an address; `redirectUrl` is where somebody listens. */
export function authorizationAt(
  url: string,
  { name, reach }: McpServerSettings,
  file: TokenFile,
  redirectUrl?: string,
): ServerAuthorization {
  const client = reach.type === 'stdio' ? undefined : reach.oauth
  if (client?.isMachine) return new ServerAuthorization(name, url, machineTokens(name, client))
  const options = { name, url, file, ...(client && { client }), ...(redirectUrl !== undefined && { redirectUrl }) }
  return new ServerAuthorization(name, url, personTokens(options))
}

const bearerOf = (init: RequestInit | undefined): string | undefined =>
  new Headers(init?.headers).get('authorization')?.match(/^Bearer (.*)$/)?.[1]

function again(url: string | URL, init: RequestInit | undefined, token: string): Promise<Response> {
  const headers = new Headers(init?.headers)
  headers.set('authorization', `Bearer ${token}`)
  return fetch(url, { ...init, headers })
}

/** The configured headers are for the server alone, not for whom it names as its authorization server. */
export function boundedFetch({ origin }: URL, fetchFn: FetchLike): FetchLike {
  return (url, init) => {
    const own = new URL(url).origin === origin ? fetchFn : fetch
    return own(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) })
  }
}

/** What went wrong, in words of ours alone: an answer of others may hold anything, tokens too. */
export function authorizationFault(server: string, error: unknown, isStranger = false): unknown {
  if (error instanceof ToolExecutionError || connectionCode(error) !== undefined) return error
  return new AuthorizationFailure(server, `it wants authorization, and ${problemOf(server, error, isStranger)}`)
}

function problemOf(server: string, error: unknown, isStranger: boolean): string {
  const header = `give it an Authorization header in mcpServers.${server}.headers`
  if (RegistrationRejectedError.isInstance(error)) return `lets no client register itself (${error.status}): ${header}`
  if (isStranger) return `knows only registered clients: name yours in mcpServers.${server}.oauth, or ${header}`
  if (OAuthError.isInstance(error) && /^[a-z_]{1,40}$/.test(error.code))
    return `its authorization server says ${error.code}`
  return `none could be had: is its authorization server running? If it has none, ${header}`
}
