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
import type { OAuthClientSettings } from '../client/server-settings.ts'
import { AuthorizationFailure } from './authorization-failure.ts'
import { checkIssuer, issuerOf, registeredClient } from './registered-client.ts'
import type { PendingAuthorization, TokenEntry, TokenFile } from './token-file.ts'

/** The port of the address that a registered client has, and of the one where nobody listens. */
export const REGISTERED_PORT = 47_479
/** Where the answer goes where nobody listens: its address is then copied out of the browser. */
const NOBODY_LISTENS = `http://127.0.0.1:${REGISTERED_PORT}/callback`

export interface OAuthProviderOptions {
  /** The server's name in the configuration, and its address. */
  readonly name: string
  readonly url: string
  readonly file: TokenFile
  /** The client that somebody has registered for us. */
  readonly client?: OAuthClientSettings
  /** What new tokens are to give, where those that we have are good but give too little. */
  readonly widerScope?: string
  /** Where somebody listens for the answer; without it, an authorization that was begun before is not begun again. */
  readonly redirectUrl?: string
  /** The authorization that is to be finished. */
  readonly resume?: PendingAuthorization
}

/** What the SDK asks about, and tells, in the course of one authorization or refresh. */
export class OAuthProvider implements OAuthClientProvider {
  readonly redirectUrl: string
  /** What somebody has to open, once there is such a thing. */
  address: string | undefined
  readonly #options: OAuthProviderOptions
  #client: StoredOAuthClientInformation | undefined
  #discovery: OAuthDiscoveryState | undefined
  #verifier: string
  #state = ''
  #tried: string | undefined

  constructor(options: OAuthProviderOptions) {
    const { resume, redirectUrl = NOBODY_LISTENS } = options
    this.#options = options
    this.redirectUrl = resume?.redirect_url ?? redirectUrl
    this.#client = resume?.client
    this.#discovery = resume?.discovery
    this.#verifier = resume?.code_verifier ?? ''
  }

  get clientMetadata(): OAuthClientMetadata {
    return { client_name: 'Toolyard', redirect_uris: [this.redirectUrl], token_endpoint_auth_method: 'none' }
  }

  /** A client of our own is registered for one redirect address, and serves as long as what it was registered for. */
  async clientInformation(found?: OAuthClientInformationContext): Promise<StoredOAuthClientInformation | undefined> {
    if (this.#client !== undefined) return this.#client
    const { client: registered, widerScope } = this.#options
    if (registered !== undefined) return registeredClient(registered, found?.issuer)
    const { tokens, client, pending } = await this.#entry()
    if (tokens?.refresh_token !== undefined && widerScope === undefined) return client
    return this.#isWaitedFor ? undefined : pending?.client
  }

  /** Written down with what the client is for. */
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
    // The configuration has it, and may hold another secret next time.
    const isConfigured = registered !== undefined || resume?.is_configured === true
    await this.#update((entry) => {
      const client = isConfigured ? undefined : (this.#client ?? entry.client)
      // What was asked for is what was given, unless something else is said.
      const scope = tokens.scope ?? (resume ? scopeOf(resume.address) : entry.tokens?.scope)
      // A refresh leaves what is still to be asked for.
      const pending = resume === undefined ? entry.pending : undefined
      return { tokens: { ...tokens, ...(scope && { scope }) }, ...(client && { client }), ...(pending && { pending }) }
    })
  }

  /** The last thing asked for before an authorization begins: here it is decided whether it does. */
  async state(): Promise<string> {
    const { name, widerScope } = this.#options
    const { pending, tokens } = await this.#entry()
    // What was refused is gone by now: this one was not, its server could not answer.
    if (tokens?.refresh_token !== undefined && widerScope === undefined) {
      throw new AuthorizationFailure(name, 'its authorization server does not renew tokens just now: try again later')
    }
    if (pending !== undefined && !this.#isWaitedFor && (await this.#isStillGood(pending))) {
      throw AuthorizationFailure.needed(name, pending.address, wantsOf(widerScope))
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

  /** Looked up anew each time, but for the answer, which must come from the server that was asked. */
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#options.resume === undefined ? undefined : this.#discovery
  }

  async redirectToAuthorization({ href, protocol }: URL): Promise<void> {
    const discovery = this.#discovery
    const client = await this.clientInformation(discovery && { issuer: issuerOf(discovery) })
    if (client === undefined || discovery === undefined || !/^https?:$/.test(protocol)) {
      throw new AuthorizationFailure(this.#options.name, 'its authorization server has no address that can be opened')
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
      // Another process may have got new ones in the meantime.
      if (entry.tokens?.refresh_token !== this.#tried) return entry
      const { pending } = entry
      return pending === undefined ? {} : { pending }
    })
  }

  /** Whether what was begun is what would be begun now. */
  async #isStillGood({ client, discovery, wider_scope }: PendingAuthorization): Promise<boolean> {
    if (this.#client !== undefined) return false
    if (client.client_id !== (await this.clientInformation())?.client_id) return false
    if (discovery.authorizationServerUrl !== this.#discovery?.authorizationServerUrl) return false
    return !isStrictScopeSuperset(this.#options.widerScope, wider_scope)
  }

  /** Whether the authorization server takes only clients that it knows, and we are none of these. */
  get isStranger(): boolean {
    const metadata = this.#discovery?.authorizationServerMetadata
    if (metadata === undefined || this.#client !== undefined || this.#options.client !== undefined) return false
    return metadata.registration_endpoint === undefined
  }

  /** Whether somebody sits in front of this. */
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

/** How the wish for it is put into words. */
export const wantsOf = (widerScope: string | undefined): string =>
  widerScope === undefined ? 'authorization' : 'more authorization than it was given'

const scopeOf = (address: string): string | undefined => new URL(address).searchParams.get('scope') ?? undefined
