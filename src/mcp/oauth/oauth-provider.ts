import { randomBytes } from 'node:crypto'
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { AuthorizationFailure } from './authorization-failure.ts'
import type { PendingAuthorization, TokenEntry, TokenFile } from './token-file.ts'

/** Where the answer goes where nobody listens: its address is then copied out of the browser. */
const NOBODY_LISTENS = 'http://127.0.0.1:47479/callback'

export interface OAuthProviderOptions {
  /** The server's name in the configuration, and its address. */
  readonly name: string
  readonly url: string
  readonly file: TokenFile
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

  /** A client is registered for one redirect address, and serves as long as what it was registered for. */
  async clientInformation(): Promise<StoredOAuthClientInformation | undefined> {
    if (this.#client !== undefined) return this.#client
    const { tokens, client, pending } = await this.#entry()
    if (tokens?.refresh_token !== undefined) return client
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
    await this.#update((entry) => {
      const client = this.#client ?? entry.client
      return { tokens, ...(client && { client }) }
    })
  }

  /** The last thing asked for before an authorization begins: here it is decided whether it does. */
  async state(): Promise<string> {
    const { name } = this.#options
    const { pending, tokens } = await this.#entry()
    // What was refused is gone by now: this one was not, its server could not answer.
    if (tokens?.refresh_token !== undefined) {
      throw new AuthorizationFailure(name, 'its authorization server does not renew tokens just now: try again later')
    }
    if (pending !== undefined && this.#client === undefined && !this.#isWaitedFor) {
      throw AuthorizationFailure.needed(name, pending.address)
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
    this.#discovery = state
  }

  /** Looked up anew each time, but for the answer, which must come from the server that was asked. */
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#options.resume === undefined ? undefined : this.#discovery
  }

  async redirectToAuthorization({ href, protocol }: URL): Promise<void> {
    const client = await this.clientInformation()
    const discovery = this.#discovery
    if (client === undefined || discovery === undefined || !/^https?:$/.test(protocol)) {
      throw new AuthorizationFailure(this.#options.name, 'its authorization server has no address that can be opened')
    }
    this.address = href
    const { redirectUrl: redirect_url } = this
    const pending = {
      address: href,
      state: this.#state,
      code_verifier: this.#verifier,
      redirect_url,
      client,
      discovery,
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
