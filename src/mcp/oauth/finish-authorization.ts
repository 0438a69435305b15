import { auth } from '@modelcontextprotocol/client'
import { AuthorizationFailure } from './authorization-failure.ts'
import { OAuthProvider, type OAuthProviderOptions } from './oauth-provider.ts'
import { authorizationFault, boundedFetch } from './server-authorization.ts'

/** Exchanges the answer to an authorization that was begun for tokens, and keeps them. An answer is taken once. */
export async function finishAuthorization(
  options: Pick<OAuthProviderOptions, 'name' | 'url' | 'file'>,
  answer: URLSearchParams,
): Promise<void> {
  const { name, url, file } = options
  const pending = (await file.read(url))?.pending
  if (pending === undefined || answer.get('state') !== pending.state) {
    throw new AuthorizationFailure(name, `this is no answer to what was asked: run "toolyard mcp login ${name}"`)
  }
  await file.update(url, ({ pending: _, ...rest } = {}) => rest)
  const code = answer.get('code')
  if (code === null) throw new AuthorizationFailure(name, `authorization was refused${errorOf(answer)}`)
  const serverUrl = new URL(url)
  const iss = answer.get('iss')
  await auth(new OAuthProvider({ ...options, resume: pending }), {
    serverUrl,
    authorizationCode: code,
    fetchFn: boundedFetch(serverUrl, fetch),
    ...(iss !== null && { iss }),
  }).catch((error: unknown) => {
    throw authorizationFault(name, error)
  })
}

/** Only a code is shown: whoever sent the answer wrote the rest. */
function errorOf(answer: URLSearchParams): string {
  const error = answer.get('error') ?? ''
  return /^[a-z_]{1,40}$/.test(error) ? ` (${error})` : ''
}
