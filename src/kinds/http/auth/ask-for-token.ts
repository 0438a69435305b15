import type { Clock } from '../../../core/clock.ts'
import type { HttpResponse, OutgoingRequest } from '../outgoing-request.ts'
import { AccessToken } from './access-token.ts'
import type { OAuthClient } from './oauth-client.ts'
import { whyNoToken } from './why-no-token.ts'

/** Sends a request, guarded and bounded like every other, and gives what came back, be it an error or a redirect. */
export type Ask = (request: OutgoingRequest, signal: AbortSignal | undefined) => Promise<HttpResponse>

/** For a token whose server does not say how long it lives. */
const USUAL_LIFE_S = 300
/** It must still be good when it arrives. */
const MOST_EARLY_S = 30
/** Servers refuse requests with longer headers. */
const LONGEST_TOKEN = 16_000
const TOKEN = /^[\u0021-\u007e]+$/

/** Asks for a token with client credentials; fails with a TokenFailure, or with the reason of the signal. */
export async function askForToken(
  client: OAuthClient,
  ask: Ask,
  clock: Clock,
  signal: AbortSignal,
): Promise<AccessToken> {
  // Loaded when the first token is asked for: most tools need none.
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
          answer = await ask({ method: 'POST', origin: url.origin, path, headers, body: String(body) }, signal)
          return asResponse(answer)
        },
      },
    )
    const { access_token, token_type, expires_in } = await oauth.processClientCredentialsResponse(
      server,
      { client_id: id },
      response,
    )
    if (token_type !== 'bearer' || access_token.length > LONGEST_TOKEN || !TOKEN.test(access_token)) {
      throw new TypeError('Not a token that a header can carry')
    }
    return new AccessToken(access_token, askedMs + goodForMs(expires_in))
  } catch (thrown) {
    const reason = thrown instanceof oauth.ResponseBodyError ? thrown.error : undefined
    throw whyNoToken(thrown, url.host, answer, reason)
  }
}

function goodForMs(lifeS = USUAL_LIFE_S): number {
  return (lifeS - Math.min(MOST_EARLY_S, lifeS / 10)) * 1000
}

/** The library gets to see only what is wanted of it: with the header of a challenge it would not look at the body. */
function asResponse({ status, headers, body }: HttpResponse): Response {
  const type = headers['content-type']
  return new Response(body.length === 0 ? null : wanted(body.toString()), {
    status,
    headers: type === undefined ? {} : { 'content-type': type },
  })
}

/** Servers add an id_token that nobody asked for, or a refresh_token of null: for either the library refuses it all. */
function wanted(text: string): string {
  try {
    const { access_token, token_type, expires_in, error } = JSON.parse(text)
    return JSON.stringify({ access_token, token_type, expires_in: expires_in ?? undefined, error })
  } catch {
    return text
  }
}
