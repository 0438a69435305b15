import {
  type AuthProvider,
  auth,
  extractWWWAuthenticateParams,
  type FetchLike,
  OAuthError,
  RegistrationRejectedError,
} from '@modelcontextprotocol/client'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { networkCode } from '../client/error-chain.ts'
import type { McpServerSettings } from '../client/server-settings.ts'
import { AuthorizationFailure } from './authorization-failure.ts'
import { OAuthProvider, type OAuthProviderOptions } from './oauth-provider.ts'
import type { TokenFile } from './token-file.ts'

type UnauthorizedContext = Parameters<NonNullable<AuthProvider['onUnauthorized']>>[0]

/** How long an authorization server may take for one answer. */
const PATIENCE_MS = 10_000

/** The tokens for one server: handed out, and renewed when they are refused, once for all who wait for that. */
export class ServerAuthorization implements AuthProvider {
  readonly #options: Omit<OAuthProviderOptions, 'resume'>
  #token: Promise<string | undefined> | undefined
  #renewal: Promise<void> | undefined

  constructor(options: Omit<OAuthProviderOptions, 'resume'>) {
    this.#options = options
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

  async #renew({ response, serverUrl, fetchFn }: UnauthorizedContext): Promise<void> {
    const { name } = this.#options
    const refused = await this.token()
    // Another process may have refreshed it, or somebody has logged in.
    if ((await this.#read()) === refused) {
      const provider = new OAuthProvider(this.#options)
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
      const options = {
        serverUrl,
        fetchFn: boundedFetch(serverUrl, fetchFn),
        ...(resourceMetadataUrl && { resourceMetadataUrl }),
        ...(scope && { scope }),
      }
      const result = await auth(provider, options).catch((error: unknown) => {
        throw authorizationFault(name, error)
      })
      if (result === 'REDIRECT') throw AuthorizationFailure.needed(name, provider.address ?? '')
    }
    const renewed = await this.#read()
    this.#token = Promise.resolve(renewed)
  }

  async #read(): Promise<string | undefined> {
    const { file, url } = this.#options
    return (await file.read(url))?.tokens?.access_token
  }
}

/** The authorization for a server of the configuration: HTTP servers have one, unless the configuration brings a header. */
export function serverAuthorization(
  { name, reach }: McpServerSettings,
  file: TokenFile,
): ServerAuthorization | undefined {
  if (reach.type === 'stdio' || !URL.canParse(reach.url)) return undefined
  if (Object.keys(reach.headers).some((header) => header.toLowerCase() === 'authorization')) return undefined
  return new ServerAuthorization({ name, url: new URL(reach.url).href, file })
}

/** The configured headers are for the server alone, not for whom it names as its authorization server. */
export function boundedFetch({ origin }: URL, fetchFn: FetchLike): FetchLike {
  return (url, init) => {
    const own = new URL(url).origin === origin ? fetchFn : fetch
    return own(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) })
  }
}

/** What went wrong, in words of ours alone: an answer of others may hold anything, tokens too. */
export function authorizationFault(server: string, error: unknown): unknown {
  if (error instanceof ToolExecutionError || networkCode(error) !== undefined) return error
  return new AuthorizationFailure(server, `it wants authorization, and ${problemOf(server, error)}`)
}

function problemOf(server: string, error: unknown): string {
  const header = `give it an Authorization header in mcpServers.${server}.headers`
  if (RegistrationRejectedError.isInstance(error)) return `lets no client register itself (${error.status}): ${header}`
  if (OAuthError.isInstance(error) && /^[a-z_]{1,40}$/.test(error.code))
    return `its authorization server says ${error.code}`
  return `none could be had: is its authorization server running? If it has none, ${header}`
}
