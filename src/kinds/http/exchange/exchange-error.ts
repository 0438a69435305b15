import { errors } from 'undici'
import { timedOut } from '../../../core/execution/call.ts'
import { connectionCode, unavailable } from '../../../core/failure.ts'
import { ToolExecutionError } from '../../../core/tool-result.ts'
import { refusedAddress } from '../network/network-rules.ts'

/** For writes whose request was sent: their outcome is unknown. The executor drops it for reads. */
export const MAY_HAVE_RUN = { outcome: 'unknown' } as const

const NOT_TRUSTED = /^(?:CERT|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|ERR_TLS_CERT)_/

/** Describes a connection failure without the HTTP client's message, which contains addresses. */
export function connectionFailed(thrown: unknown, tool: string, left: boolean): ToolExecutionError {
  const refused = refusedAddress(thrown)
  if (refused !== undefined) return notSent(refused.message, thrown, left)
  const code = codeOf(thrown)
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED') {
    return notSent(`The request of tool '${tool}' cannot be sent: its path or a header is not valid HTTP`, thrown, left)
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return brokenAnswer(`The service behind tool '${tool}' answered with too many headers`, thrown)
  }
  // The only undici error that may have no code.
  const garbled = thrown instanceof errors.HTTPParserError
  const network = garbled ? '' : connectionCode(thrown)
  if (network === undefined) {
    return left
      ? brokenAnswer(`The service behind tool '${tool}' sent an unreadable answer`, thrown)
      : notSent(`The request of tool '${tool}' failed before it was sent`, thrown, left)
  }
  return new ToolExecutionError(
    'SERVICE_UNAVAILABLE',
    unavailable(tool) + (garbled ? ' Its answer was not HTTP.' : trust(network)),
    left ? MAY_HAVE_RUN : {},
    {
      cause: thrown,
      repeat: left ? {} : { neverLeft: true },
    },
  )
}

/** The response arrived, but can't be used. */
export const brokenAnswer = (message: string, cause?: unknown): ToolExecutionError =>
  new ToolExecutionError('EXECUTION_ERROR', message, MAY_HAVE_RUN, { cause })

export function attemptTimedOut(ms: number, left: boolean, firstByte: boolean): ToolExecutionError {
  const waiting = firstByte ? ' while waiting for an answer' : ''
  // For the log.
  const cause = new Error(left ? 'the service did not answer the request' : 'no connection to the service was made')
  return new ToolExecutionError('TIMEOUT', timedOut(ms).message + waiting, left ? MAY_HAVE_RUN : {}, {
    cause,
    repeat: left ? {} : { neverLeft: true },
  })
}

export const answerTooLarge = (tool: string, maxBytes: number): ToolExecutionError =>
  new ToolExecutionError(
    'RESULT_TOO_LARGE',
    `The service behind tool '${tool}' answered with more than ${maxBytes} bytes: request less, or raise max_response_bytes`,
    MAY_HAVE_RUN,
  )

/** This request wasn't sent, but an earlier one of the same redirect chain may have been. */
const notSent = (message: string, cause: unknown, left: boolean): ToolExecutionError =>
  new ToolExecutionError('EXECUTION_ERROR', message, left ? MAY_HAVE_RUN : {}, { cause })

const trust = (code: string): string => (NOT_TRUSTED.test(code) ? ' Its certificate is not trusted.' : '')

function codeOf(thrown: unknown): unknown {
  return typeof thrown === 'object' && thrown !== null ? (thrown as { code?: unknown }).code : undefined
}
