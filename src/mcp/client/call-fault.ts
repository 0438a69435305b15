import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { connectionCode, mayHaveLeft } from '../../core/network-code.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { isTooLarge } from '../stdio/too-large.ts'

/** What became of a request that failed, told by codes and statuses, never by text. */
export type CallFault =
  /** The server has answered, with an error: there is nothing wrong with the connection. */
  | { readonly kind: 'answered'; readonly error: ToolExecutionError }
  /** The connection is of no use any more; `sent` says whether the request may have arrived. */
  | { readonly kind: 'lost'; readonly sent: boolean }
  | { readonly kind: 'other'; readonly error: unknown }

const NEVER_SENT: ReadonlySet<SdkErrorCode> = new Set([SdkErrorCode.NotConnected, SdkErrorCode.NotInitialized])
const LOST: ReadonlySet<SdkErrorCode> = new Set([SdkErrorCode.ConnectionClosed, SdkErrorCode.SendFailed])
/** A server that does not know the session has not looked at the request. */
const SESSION_GONE = 404

export function callFault(thrown: unknown): CallFault {
  if (isTooLarge(thrown)) {
    return { kind: 'answered', error: new ToolExecutionError('RESULT_TOO_LARGE', (thrown as Error).message) }
  }
  if (ProtocolError.isInstance(thrown)) {
    return { kind: 'answered', error: new ToolExecutionError('EXECUTION_ERROR', thrown.message) }
  }
  if (SdkHttpError.isInstance(thrown)) return httpFault(thrown)
  if (SdkError.isInstance(thrown)) {
    if (NEVER_SENT.has(thrown.code)) return { kind: 'lost', sent: false }
    if (LOST.has(thrown.code)) return { kind: 'lost', sent: true }
    if (thrown.code === SdkErrorCode.InvalidResult) {
      return { kind: 'answered', error: new ToolExecutionError('EXECUTION_ERROR', thrown.message) }
    }
    return { kind: 'other', error: thrown }
  }
  const code = connectionCode(thrown)
  return code === undefined ? { kind: 'other', error: thrown } : { kind: 'lost', sent: mayHaveLeft(code) }
}

function httpFault(thrown: SdkHttpError): CallFault {
  const { status } = thrown
  if (status === SESSION_GONE) return { kind: 'lost', sent: false }
  if (status >= 500) return { kind: 'lost', sent: true }
  return {
    kind: 'answered',
    error: new ToolExecutionError('EXECUTION_ERROR', `The MCP server refused the request with status ${status}`),
  }
}
