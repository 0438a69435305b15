import { DeepJsonError, parseJson } from '../../core/json-depth.ts'
import { LIMITS } from '../../core/snapshot.ts'
import type { ToolFailure } from '../../core/tool-result.ts'

/** A call as the body of a request asks for it. The executor judges the parameters. */
export interface AskedCall {
  readonly tool_name: string
  readonly params: unknown
  readonly timeout_ms?: number
  readonly session_id?: unknown
}

/** A body that asks for no call, and why. */
export class UnreadableCallError extends Error {
  readonly tool: string

  constructor(message: string, tool = '') {
    super(message)
    this.name = 'UnreadableCallError'
    this.tool = tool
  }
}

/** Reads the body of a request for a call. */
export function readCall(text: string): AskedCall {
  let body: unknown
  try {
    body = parseJson(text, LIMITS.bodyDepth)
  } catch (error) {
    throw new UnreadableCallError(
      error instanceof DeepJsonError ? `the body is ${error.message}` : 'the body is not JSON',
    )
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new UnreadableCallError('the body must be one JSON object {"tool_name", "params"}')
  }
  const { tool_name, timeout_ms } = body as { tool_name?: unknown; timeout_ms?: unknown }
  if (tool_name === undefined) throw new UnreadableCallError("missing 'tool_name'")
  if (typeof tool_name !== 'string') throw new UnreadableCallError('tool_name must be a string')
  if (timeout_ms !== undefined && typeof timeout_ms !== 'number') {
    throw new UnreadableCallError('timeout_ms must be a number', tool_name)
  }
  return body as AskedCall
}

/** The envelope of what never became a call. */
export const unreadable = ({ message, tool }: UnreadableCallError): ToolFailure => ({
  success: false,
  error: `Invalid parameters: ${message}`,
  error_code: 'INVALID_PARAMETERS',
  tool_name: tool,
  execution_time_ms: 0,
})
