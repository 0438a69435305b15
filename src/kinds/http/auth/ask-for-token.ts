import { createHash } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Clock } from '../../../core/clock.ts'
import { type Repeat, type ToolErrorCode, ToolExecutionError } from '../../../core/tool-result.ts'
import type { HttpAuth } from '../definition/http-implementation.ts'
import { type HttpResponse, hasControlCharacter, type OutgoingRequest } from '../exchange/outgoing-request.ts'

type OAuthSettings = Extract<HttpAuth, { readonly type: 'oauth2' }>

export interface OAuthClient {
  readonly url: URL
  readonly id: string
  readonly secret: string
  /** Whether the secret is sent in the form instead of a header. */
  readonly inBody: boolean
  readonly parameters: Readonly<Record<string, string>>
  /** Equal for clients that get the same tokens. */
  readonly key: string
}

/** Reads the settings of a client. Throws if one is invalid. */
export function oauthClient(tool: string, settings: OAuthSettings): OAuthClient {
  const { token_url, client_id, client_secret, scope, audience, client_auth = 'basic' } = settings
  for (const [key, value] of Object.entries({ client_id, client_secret })) {
    if (value === '') throw unfitAuth(tool, `auth.${key}`, 'is empty')
    if (hasControlCharacter(value)) {
      throw unfitAuth(tool, `auth.${key}`, 'contains a line break or another control character')
    }
  }
  return {
    url: tokenUrl(tool, token_url),
    id: client_id,
    secret: client_secret,
    inBody: client_auth === 'body',
    parameters: { ...(scope !== undefined && { scope }), ...(audience !== undefined && { audience }) },
    key: createHash('sha256')
      .update(JSON.stringify([token_url, client_id, client_secret, scope, audience, client_auth]))
      .digest('base64url'),
  }
}

function tokenUrl(tool: string, text: string): URL {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw unfitAuth(tool, 'auth.token_url', 'is not an address such as https://login.example.com/token')
  }
  if (url.username !== '' || url.password !== '') {
    throw unfitAuth(
      tool,
      'auth.token_url',
      'contains a user or a password, which belong in auth.client_id and auth.client_secret',
    )
  }
  return url
}

/** Error for an `auth` setting that can't be sent. Doesn't quote the value: it may be secret. */
export const unfitAuth = (tool: string, key: string, problem: string): ToolExecutionError =>
  new ToolExecutionError(
    'EXECUTION_ERROR',
    `Tool '${tool}' cannot authenticate: implementation.${key} ${problem}. Check it, or the variable that it comes from.`,
  )

export class AccessToken {
  readonly value: string
  readonly header: string
  /** Monotonic time after which it is no longer used. */
  readonly expires: number
  uses = 0

  constructor(value: string, expires: number) {
    this.value = value
    this.header = `Bearer ${value}`
    this.expires = expires
  }
}

/** Sends a request with the usual checks and limits; doesn't follow redirects. */
export type Ask = (request: OutgoingRequest, tenant: string, signal: AbortSignal | undefined) => Promise<HttpResponse>

/** Used if the server sends no `expires_in`. */
const DEFAULT_LIFE_S = 300
const MAX_EARLY_S = 30
/** Servers reject requests with longer headers. */
const MAX_TOKEN_CHARACTERS = 16_000
const TOKEN = /^[\u0021-\u007e]+$/

/** Requests a token with client credentials; rejects with a TokenFailure or the signal's reason. */
export async function askForToken(
  client: OAuthClient,
  ask: (request: OutgoingRequest) => Promise<HttpResponse>,
  clock: Clock,
): Promise<AccessToken> {
  // Loaded with the first token: most tools need none.
  const oauth = await import('oauth4webapi')
  const askedMs = clock.now()
  const { url, id, secret, parameters } = client
  const server = { issuer: url.origin, token_endpoint: url.href }
  let answer: HttpResponse | undefined
  try {
    const response = await oauth.clientCredentialsGrantRequest(
      server,
      { client_id: id },
      client.inBody ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret),
      parameters,
      {
        [oauth.allowInsecureRequests]: url.protocol === 'http:',
        [oauth.customFetch]: async (_, { headers, body }) => {
          const path = `${url.pathname}${url.search}`
          answer = await ask({ method: 'POST', origin: url.origin, path, headers, body: String(body) })
          return asResponse(answer)
        },
      },
    )
    const { access_token, token_type, expires_in } = await oauth.processClientCredentialsResponse(
      server,
      { client_id: id },
      response,
    )
    if (token_type !== 'bearer' || access_token.length > MAX_TOKEN_CHARACTERS || !TOKEN.test(access_token)) {
      throw new TypeError('Not a token that a header can carry')
    }
    return new AccessToken(access_token, askedMs + goodForMs(expires_in))
  } catch (thrown) {
    const reason = thrown instanceof oauth.ResponseBodyError ? thrown.error : undefined
    throw whyNoToken(thrown, url.host, answer, reason)
  }
}

function goodForMs(lifeS = DEFAULT_LIFE_S): number {
  return (lifeS - Math.min(MAX_EARLY_S, lifeS / 10)) * 1000
}

/** Passes on only status, type and body: with a challenge header the library ignores the body. */
function asResponse({ status, headers, body }: HttpResponse): Response {
  const type = headers['content-type']
  return new Response(body.length === 0 ? null : wanted(body.toString()), {
    status,
    headers: type === undefined ? {} : { 'content-type': type },
  })
}

/** Some servers add an id_token or a null refresh_token, which the library rejects. */
function wanted(text: string): string {
  try {
    const { access_token, token_type, expires_in, error } = JSON.parse(text)
    return JSON.stringify({ access_token, token_type, expires_in: expires_in ?? undefined, error })
  } catch {
    return text
  }
}

/** Why there is no token. Tools that share the request each report it under their own name. */
export class TokenFailure extends Error {
  readonly code: ToolErrorCode
  readonly repeat: Repeat | undefined

  constructor(code: ToolErrorCode, reason: string, repeat?: Repeat) {
    super(reason)
    this.name = 'TokenFailure'
    this.code = code
    this.repeat = repeat
  }

  of(tool: string): ToolExecutionError {
    const message = `Tool '${tool}' got no access token: ${this.message}`
    return new ToolExecutionError(this.code, message, {}, { repeat: this.repeat })
  }
}

/** The tool's own request wasn't sent, so even a write can be retried. */
const NEVER_LEFT = { neverLeft: true } as const

/** Advice for the standard error codes. Others are the server's own text and aren't repeated. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['invalid_client', 'Check auth.client_id and auth.client_secret, and whether auth.client_auth should be "body".'],
  ['invalid_grant', 'Check auth.client_id and auth.client_secret.'],
  ['unauthorized_client', 'Check that this client may use the grant "client_credentials".'],
  ['unsupported_grant_type', 'Check that this server knows the grant "client_credentials".'],
  ['access_denied', 'Check the permissions of this client.'],
  ['invalid_scope', 'Check auth.scope.'],
  ['invalid_target', 'Check auth.audience.'],
  ['invalid_request', 'Check auth.scope, auth.audience and auth.client_auth.'],
])

/**
 * Explains why a token request failed. Never quotes the response: it may contain the request.
 */
function whyNoToken(
  thrown: unknown,
  host: string,
  answer: HttpResponse | undefined,
  reason: string | undefined,
): unknown {
  if (answer === undefined) return notAnswered(thrown, host)
  const { status } = answer
  const said = `the token server '${host}' answered ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd()
  if (status >= 500) return new TokenFailure('SERVICE_UNAVAILABLE', `${said}. Try again later.`, NEVER_LEFT)
  if (status === 429 || status === 408) {
    return new TokenFailure('EXECUTION_ERROR', `${said}. Try again later.`, NEVER_LEFT)
  }
  if (status >= 400) {
    const advice = REASONS.get(reason ?? '')
    if (advice === undefined) return new TokenFailure('EXECUTION_ERROR', `${said}. Check the settings under auth.`)
    return new TokenFailure('EXECUTION_ERROR', `${said} (${reason}). ${advice}`)
  }
  if (status >= 300) {
    return new TokenFailure(
      'EXECUTION_ERROR',
      `${said}, and redirects of token requests are not followed. Write the final address into auth.token_url.`,
    )
  }
  return new TokenFailure(
    'EXECUTION_ERROR',
    `the token server '${host}' answered ${status} with no bearer token that can be used. Check auth.token_url.`,
  )
}

/** Keeps the message only: the outcome of the token request isn't that of the tool's request. */
function notAnswered(thrown: unknown, host: string): unknown {
  if (!(thrown instanceof ToolExecutionError)) return thrown
  switch (thrown.code) {
    case 'SERVICE_UNAVAILABLE':
      return new TokenFailure(thrown.code, `the token server '${host}' is unavailable. Try again later.`, NEVER_LEFT)
    case 'TIMEOUT':
      return new TokenFailure(thrown.code, `the token server '${host}' did not answer in time.`, NEVER_LEFT)
    case 'RESULT_TOO_LARGE':
      return new TokenFailure(
        'EXECUTION_ERROR',
        `the answer of the token server '${host}' is larger than a token can be.`,
      )
    case 'EXECUTION_ERROR':
      return new TokenFailure(thrown.code, thrown.message)
    default:
      return thrown
  }
}
