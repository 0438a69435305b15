import { type AccountUser, NO_ACCOUNTS, type UserAccounts } from '../../../core/call-context.ts'
import type { CancelSignal } from '../../../core/cancellation.ts'
import { ToolExecutionError } from '../../../core/tool-result.ts'
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
import {
  type AccessToken,
  type Ask,
  askForToken,
  type OAuthClient,
  oauthClient,
  TokenFailure,
  unfitAuth,
} from './ask-for-token.ts'
import type { AccessTokens } from './token-source.ts'

/** Compiles the authentication of a tool. Throws if a setting can't be sent, without quoting its value. */
export function compileAuth(auth: HttpAuth | undefined, parts: AuthParts): AuthPlan {
  const { tool, secrets } = parts
  if (auth === undefined) return fixedAuth(secrets, (request) => request)
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
      return tokenAuth(oauthClient(tool, auth), parts)
    case 'user_oauth':
      return accountAuth(auth.provider, parts)
    default:
      throw unfitAuth(tool, 'auth.type', 'must be "bearer", "api_key", "basic", "oauth2" or "user_oauth"')
  }
}

function inHeader({ secrets }: AuthParts, name: string, value: string): AuthPlan {
  return fixedAuth(secrets, (request) => ({
    ...request,
    headers: { ...request.headers, [name]: value },
    credentials: [...(request.credentials ?? []), name],
  }))
}

/** Replaces an existing key: the URL of a next page may contain it. */
function inQuery({ secrets }: AuthParts, name: string, value: string): AuthPlan {
  return fixedAuth(secrets, (request) => ({ ...request, path: withQuery(request.path, name, value) }))
}

function basic(tool: string, username: string, password: string, secrets: SecretValues): string {
  if (username.includes(':'))
    throw unfitAuth(tool, 'auth.username', 'contains a colon, which is not allowed in a user name')
  for (const [key, value] of Object.entries({ username, password })) {
    if (hasControlCharacter(value))
      throw unfitAuth(tool, `auth.${key}`, 'contains a line break or another control character')
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
  throw unfitAuth(tool, 'auth.name', 'is a header of the connection, which cannot carry a key')
}

function sendable(tool: string, key: string, value: string): string {
  if (isHeaderValue(filled(tool, key, value))) return value
  throw unfitAuth(tool, key, 'contains a line break or another character that is not allowed in a header')
}

function filled(tool: string, key: string, value: string): string {
  if (value !== '') return value
  throw unfitAuth(tool, key, 'is empty')
}

/** Sends the same credentials with every request. */
const fixedAuth = (secrets: SecretValues, apply: (request: OutgoingRequest) => OutgoingRequest): AuthPlan => ({
  apply,
  secretsOf: () => secrets,
  refused: () => false,
})

export interface AuthParts {
  readonly tool: string
  /** The address of the tool. */
  readonly url: URL
  /** The secrets of the tool; credentials are added to them. */
  readonly secrets: SecretValues
  readonly tokens: AccessTokens
  readonly accounts?: UserAccounts | undefined
  /** Why a configured URL is blocked; undefined if it is allowed. */
  refusal(url: URL): string | undefined
  readonly ask: Ask
}

export interface AuthPlan {
  /**
   * Adds credentials to a request. Returns a promise only if a token must be requested first.
   */
  apply(
    request: OutgoingRequest,
    tenant: string,
    signal?: CancelSignal,
    user?: AccountUser,
  ): OutgoingRequest | Promise<OutgoingRequest>
  secretsOf(sent: OutgoingRequest): SecretValues
  /**
   * Called if the service responded with 401. Returns whether the request should be sent again with new credentials.
   */
  refused(sent: OutgoingRequest, tenant: string): boolean
}

interface AccountRequest extends OutgoingRequest {
  readonly account?: { readonly token: string; readonly user: AccountUser; readonly isRenewed: boolean }
}

/** Authenticates as the user of the call. A refused token is renewed once. Throws if the host may not get tokens. */
function accountAuth(provider: string, { tool, url, secrets, accounts }: AuthParts): AuthPlan {
  const problem = accounts === undefined ? NO_ACCOUNTS : accounts.problem(provider, url)
  if (accounts === undefined || problem !== undefined) {
    throw new ToolExecutionError('EXECUTION_ERROR', `Tool '${tool}' cannot authenticate. ${problem}`)
  }
  const refused = new WeakMap<AccountUser, string>()
  return {
    async apply(request, tenant, _signal, user = {}): Promise<AccountRequest> {
      const before = refused.get(user)
      refused.delete(user)
      const token = await accounts.token(provider, { ...user, tenant }, tool, before)
      const headers = { ...request.headers, authorization: `Bearer ${token}` }
      return { ...request, headers, account: { token, user, isRenewed: before !== undefined } }
    },
    secretsOf: ({ account }: AccountRequest) =>
      account === undefined ? secrets : new SecretValues([account.token], secrets),
    refused({ account }: AccountRequest) {
      if (account === undefined || account.isRenewed) return false
      refused.set(account.user, account.token)
      return true
    },
  }
}

interface TokenRequest extends OutgoingRequest {
  readonly token?: AccessToken
}

/** Authenticates with an OAuth token, renewed when it expires or is refused. Throws if the token URL is blocked. */
function tokenAuth(client: OAuthClient, { tool, secrets, tokens, refusal, ask }: AuthParts): AuthPlan {
  const blocked = refusal(client.url)
  if (blocked !== undefined) throw new TokenFailure('EXECUTION_ERROR', blocked).of(tool)
  const source = tokens.of(client)
  const tokenSecrets = new WeakMap<AccessToken, SecretValues>()
  return {
    apply(request, tenant, signal) {
      const token = source.held(tenant)
      if (token !== undefined) return withToken(request, token)
      return source
        .obtain(tenant, (shared) => askForToken(client, (asked) => ask(asked, tenant, shared), tokens.clock), signal)
        .then((obtained) => withToken(request, obtained))
        .catch((thrown: unknown) => {
          throw thrown instanceof TokenFailure ? thrown.of(tool) : thrown
        })
    },

    secretsOf({ token }: TokenRequest) {
      if (token === undefined) return secrets
      // Only this token: the secrets searched in every response must not grow with the number of tenants.
      const known = tokenSecrets.get(token) ?? new SecretValues([token.value], secrets)
      tokenSecrets.set(token, known)
      return known
    },

    refused({ token }: TokenRequest, tenant) {
      if (token === undefined) return false
      source.drop(tenant, token)
      // If the token was new, another one wouldn't help.
      return token.uses > 1
    },
  }
}

function withToken(request: OutgoingRequest, token: AccessToken): TokenRequest {
  token.uses++
  return { ...request, headers: { ...request.headers, authorization: token.header }, token }
}
