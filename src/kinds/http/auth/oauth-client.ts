import { createHash } from 'node:crypto'
import { ToolExecutionError } from '../../../core/tool-execution-error.ts'
import type { HttpAuth } from '../definition/http-implementation.ts'
import { hasControlCharacter } from '../exchange/outgoing-request.ts'

type OAuthSettings = Extract<HttpAuth, { readonly type: 'oauth2' }>

/** An OAuth client and the tokens it requests. */
export interface OAuthClient {
  readonly url: URL
  readonly id: string
  readonly secret: string
  /** Whether the secret is sent in the form instead of a header. */
  readonly inBody: boolean
  /** Extra form parameters: scope and audience. */
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
      throw unfitAuth(tool, `auth.${key}`, 'holds a line break or another control character')
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
      'holds a user or a password, which belong in auth.client_id and auth.client_secret',
    )
  }
  return url
}

/** Error for an `auth` setting that can't be sent. Doesn't quote the value: it may be secret. */
export const unfitAuth = (tool: string, key: string, problem: string): ToolExecutionError =>
  new ToolExecutionError(
    'EXECUTION_ERROR',
    `Tool '${tool}' cannot show who it is: implementation.${key} ${problem}. Check it, or the variable that it is taken from.`,
  )
