import { STATUS_CODES } from 'node:http'
import { ToolExecutionError } from '../../../core/tool-execution-error.ts'
import type { HttpResponse } from '../outgoing-request.ts'
import { TokenFailure } from './token-failure.ts'

/** The tool's own request has not been made, so that even a write may be tried again. */
const NEVER_LEFT = { neverLeft: true } as const

/** What to do about each reason that the standards know. Any other is the server's own text, and is not repeated. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['invalid_client', 'Check auth.client_id and auth.client_secret, and whether auth.client_auth should be "body".'],
  ['invalid_grant', 'Check auth.client_id and auth.client_secret.'],
  ['unauthorized_client', 'Check that this client may use the grant "client_credentials".'],
  ['unsupported_grant_type', 'Check that this server knows the grant "client_credentials".'],
  ['access_denied', 'Check what this client may do.'],
  ['invalid_scope', 'Check auth.scope.'],
  ['invalid_target', 'Check auth.audience.'],
  ['invalid_request', 'Check auth.scope, auth.audience and auth.client_auth.'],
])

/**
 * Why a request for a token gave none, from what was thrown, what was answered and the reason named there. Nothing of
 * the answer's text is passed on: it may hold what was sent.
 */
export function whyNoToken(
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
      `${said}, and secrets are not sent on to wherever a redirect leads. Write the final address into auth.token_url.`,
    )
  }
  return new TokenFailure(
    'EXECUTION_ERROR',
    `the token server '${host}' answered ${status} with no bearer token that can be used. Check auth.token_url.`,
  )
}

/** What is left of the error is its sentence: what it says about an outcome is not about the tool's own request. */
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
