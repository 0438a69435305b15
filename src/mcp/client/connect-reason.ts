import { ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { connectionCode } from '../../core/network-code.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { AuthorizationFailure } from '../oauth/authorization-failure.ts'
import { cleanText } from '../stdio/clean-text.ts'
import { ConnectFailure } from './connect-failure.ts'
import { errorChain, httpStatus } from './error-chain.ts'
import type { McpServerSettings } from './server-settings.ts'

const LONGEST_REASON = 500

/** Whatever connecting threw, as the one failure that the connection knows. */
export function connectFailure(settings: McpServerSettings, thrown: unknown, stderr: string): ConnectFailure {
  if (thrown instanceof ConnectFailure) return thrown
  for (const error of errorChain(thrown)) {
    if (!(error instanceof AuthorizationFailure)) continue
    return new ConnectFailure(settings, error.reason, stderr, error, error.problem)
  }
  return new ConnectFailure(settings, reasonOf(thrown), stderr, thrown)
}

/** Only sentences of ours and of the SDK are passed on: those of a network error hold addresses. */
function reasonOf(thrown: unknown): string {
  const status = httpStatus(thrown)
  if (status !== undefined) return `it answered with status ${status}`
  const code = connectionCode(thrown)
  if (code !== undefined) return `the connection failed (${code})`
  // The SDK speaks of its probes here; what happened is plain.
  if (SdkError.isInstance(thrown) && thrown.code === SdkErrorCode.EraNegotiationFailed) {
    return 'it ended the connection before it had answered'
  }
  const ours = thrown instanceof ToolExecutionError || SdkError.isInstance(thrown) || ProtocolError.isInstance(thrown)
  if (!ours || !(thrown instanceof Error)) return 'the connection failed'
  return cleanText(thrown.message).slice(0, LONGEST_REASON).replace(/\.$/, '')
}
