import type { ToolFailure } from '../../core/tool-result.ts'

/** A call as the body of a request asks for it; nothing of it has been checked but the name. */
export interface AskedCall {
  readonly tool_name: string
  readonly params: unknown
  readonly timeout_ms?: unknown
  readonly session_id?: unknown
}

/** A body that asks for no call, and why. */
export class UnreadableCallError extends Error {}

/** Reads the body of a request for a call. */
export function readCall(text: string): AskedCall {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new UnreadableCallError('the body is not JSON')
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new UnreadableCallError('the body must be one JSON object {"tool_name", "params"}')
  }
  const { tool_name } = body as { tool_name?: unknown }
  if (tool_name === undefined) throw new UnreadableCallError("missing 'tool_name'")
  if (typeof tool_name !== 'string') throw new UnreadableCallError('tool_name must be a string')
  return body as AskedCall
}

/** The envelope of what never became a call. */
export const unreadable = (problem: string): ToolFailure => ({
  success: false,
  error: `Invalid parameters: ${problem}`,
  error_code: 'INVALID_PARAMETERS',
  tool_name: '',
  execution_time_ms: 0,
})
