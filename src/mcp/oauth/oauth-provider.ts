import { randomBytes } from 'node:crypto'
import {
  isStrictScopeSuperset,
  type OAuthClientInformationContext,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { AuthorizationFailure } from '../client/failures.ts'
import type { OAuthClientSettings } from '../client/server-settings.ts'
import type { PendingAuthorization, TokenEntry, TokenFile } from './token-file.ts'

/** A configured client, in the SDK's form. */
export const registeredClient = (
  { clientId, clientSecret, issuer }: OAuthClientSettings,
  found: string | undefined,
): StoredOAuthClientInformation => ({
  client_id: clientId,
  ...(clientSecret !== undefined && { client_secret: clientSecret }),
  // `checkIssuer` compared the two; they may differ by a slash.
  ...((found ?? issuer) !== undefined && { issuer: found ?? issuer }),
})

/** Prevents sending a configured client to another authorization server. */
export function checkIssuer(
  server: string,
  client: OAuthClientSettings | undefined,
  discovery: OAuthDiscoveryState,
): void {
  if (client?.issuer === undefined || bare(client.issuer) === bare(issuerOf(discovery))) return
  throw new AuthorizationFailure(server, `its authorization server is not the issuer in mcpServers.${server}.oauth`)
}

const issuerOf = ({ authorizationServerMetadata, authorizationServerUrl }: OAuthDiscoveryState): string =>
  authorizationServerMetadata?.issuer ?? authorizationServerUrl

const bare = (address: string): string => address.replace(/\/$/, '')

/** The port of the redirect address of registered clients, and of the address without a listener. */
export const REGISTERED_PORT = 47_479
/** Used without a listener: the user then copies the address from the browser. */
const DEFAULT_REDIRECT_URL = `http://127.0.0.1:${REGISTERED_PORT}/callback`

export interface OAuthProviderOptions {
  readonly name: string
  readonly url: string
  readonly file: TokenFile
  readonly client?: OAuthClientSettings
  /** The scope to request if the current tokens work but have too narrow a scope. */
  readonly widerScope?: string
  /** The address of the listener; without one, a pending authorization isn't started again. */
  readonly redirectUrl?: string
  readonly resume?: PendingAuthorization
}

/** The state of one authorization or refresh, for the SDK. */
export class OAuthProvider implements OAuthClientProvider {
  readonly redirectUrl: string
  address: string | undefined
  readonly #options: OAuthProviderOptions
  #client: StoredOAuthClientInformation | undefined
  #discovery: OAuthDiscoveryState | undefined
  #verifier: string
  #state = ''
  #tried: string | undefined

  constructor(options: OAuthProviderOptions) {
    const { resume, redirectUrl = DEFAULT_REDIRECT_URL } = options
    this.#options = options
    this.redirectUrl = resume?.redirect_url ?? redirectUrl
    this.#client = resume?.client
    this.#discovery = resume?.discovery
    this.#verifier = resume?.code_verifier ?? ''
  }

  get clientMetadata(): OAuthClientMetadata {
    return { client_name: 'Toolyard', redirect_uris: [this.redirectUrl], token_endpoint_auth_method: 'none' }
  }

  /** A self-registered client belongs to one redirect address and to its tokens or pending authorization. */
  async clientInformation(found?: OAuthClientInformationContext): Promise<StoredOAuthClientInformation | undefined> {
    if (this.#client !== undefined) return this.#client
    const { client: registered, widerScope } = this.#options
    if (registered !== undefined) return registeredClient(registered, found?.issuer)
    const { tokens, client, pending } = await this.#entry()
    if (tokens?.refresh_token !== undefined && widerScope === undefined) return client
    return this.#isWaitedFor ? undefined : pending?.client
  }

  /** Stored later, with the tokens or the pending authorization. */
  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client
  }

  async tokens(): Promise<StoredOAuthTokens | undefined> {
    const { tokens } = await this.#entry()
    this.#tried = tokens?.refresh_token
    return tokens
  }

  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    const { resume, client: registered } = this.#options
    // A configured client isn't stored: its secret may change.
    const isConfigured = registered !== undefined || resume?.is_configured === true
    await this.#update((entry) => {
      const client = isConfigured ? undefined : (this.#client ?? entry.client)
      // Without a scope in the response, the requested one was granted.
      const scope = tokens.scope ?? (resume ? scopeOf(resume.address) : entry.tokens?.scope)
      // A refresh doesn't end a pending authorization.
      const pending = resume === undefined ? entry.pending : undefined
      return { tokens: { ...tokens, ...(scope && { scope }) }, ...(client && { client }), ...(pending && { pending }) }
    })
  }

  /** The SDK's last question before it starts an authorization: throws to prevent it. */
  async state(): Promise<string> {
    const { name, widerScope } = this.#options
    const { pending, tokens } = await this.#entry()
    // A refused refresh token is deleted by now, so the server failed to answer.
    if (tokens?.refresh_token !== undefined && widerScope === undefined) {
      throw new AuthorizationFailure(
        name,
        'its authorization server cannot renew tokens at the moment: try again later',
      )
    }
    if (pending !== undefined && !this.#isWaitedFor && (await this.#isStillGood(pending))) {
      throw AuthorizationFailure.needed(name, pending.address, widerScope !== undefined)
    }
    this.#state = randomBytes(32).toString('base64url')
    return this.#state
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    checkIssuer(this.#options.name, this.#options.client, state)
    this.#discovery = state
  }

  /** Discovered again each time, except for an answer, which must come from the server that was asked. */
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#options.resume === undefined ? undefined : this.#discovery
  }

  async redirectToAuthorization({ href, protocol }: URL): Promise<void> {
    const discovery = this.#discovery
    const client = await this.clientInformation(discovery && { issuer: issuerOf(discovery) })
    if (client === undefined || discovery === undefined || !/^https?:$/.test(protocol)) {
      throw new AuthorizationFailure(
        this.#options.name,
        'its authorization server has no address that a browser can open',
      )
    }
    this.address = href
    const { redirectUrl: redirect_url } = this
    const { widerScope: wider_scope, client: registered } = this.#options
    const pending = {
      address: href,
      state: this.#state,
      code_verifier: this.#verifier,
      redirect_url,
      client,
      ...(registered !== undefined && { is_configured: true }),
      discovery,
      ...(wider_scope !== undefined && { wider_scope }),
    }
    await this.#update((entry) => ({ ...entry, pending }))
  }

  async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    if (scope === 'client') this.#client = undefined
    if (scope !== 'all' && scope !== 'tokens') return
    await this.#update((entry) => {
      // Another process may have got new ones meanwhile.
      if (entry.tokens?.refresh_token !== this.#tried) return entry
      const { pending } = entry
      return pending === undefined ? {} : { pending }
    })
  }

  /** Whether a pending authorization equals the one that would be started now. */
  async #isStillGood({ client, discovery, wider_scope }: PendingAuthorization): Promise<boolean> {
    if (this.#client !== undefined) return false
    if (client.client_id !== (await this.clientInformation())?.client_id) return false
    if (discovery.authorizationServerUrl !== this.#discovery?.authorizationServerUrl) return false
    return !isStrictScopeSuperset(this.#options.widerScope, wider_scope)
  }

  /** Whether the authorization server accepts only registered clients and there is none. */
  get isStranger(): boolean {
    const metadata = this.#discovery?.authorizationServerMetadata
    if (metadata === undefined || this.#client !== undefined || this.#options.client !== undefined) return false
    return metadata.registration_endpoint === undefined
  }

  /** Whether a listener waits for the answer. */
  get #isWaitedFor(): boolean {
    return this.#options.redirectUrl !== undefined
  }

  async #entry(): Promise<TokenEntry> {
    return (await this.#options.file.read(this.#options.url)) ?? {}
  }

  async #update(change: (entry: TokenEntry) => TokenEntry): Promise<void> {
    await this.#options.file.update(this.#options.url, (entry = {}) => change(entry))
  }
}

const scopeOf = (address: string): string | undefined => new URL(address).searchParams.get('scope') ?? undefined
