import type { Call } from './call.ts'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'
import { redact, redactText } from './redact.ts'
import type { ToolFailure, ToolResult } from './tool-result.ts'

const SLOW_MS = 1_000
const LONGEST_STACK = 2_000

/** Writes one record of a call: what was asked, what came of it, and how long it took. A log that fails fails no call. */
export function logCall(log: Log, call: Call, result: ToolResult, clock: Clock, cause?: unknown): void {
  try {
    write(log, call, result, clock, cause)
  } catch {
    // There is nowhere left to say so.
  }
}

function write(log: Log, call: Call, result: ToolResult, clock: Clock, cause: unknown): void {
  const slow = result.execution_time_ms > SLOW_MS
  const level = result.success && !slow ? 'info' : 'warn'
  if (!log.isLevelEnabled(level)) return
  const fields = {
    tool: redactText(call.tool),
    tenant: redactText(String(call.tenant)),
    params: redact(call.params),
    success: result.success,
    ...(result.success
      ? { result: redact(result.result) }
      : { error: redactText(result.error), error_code: result.error_code, ...behind(result, cause) }),
    execution_time_ms: result.execution_time_ms,
    timestamp: new Date(clock.wall()).toISOString(),
  }
  log[level](fields, sentence(result, slow))
}

function sentence(result: ToolResult, slow: boolean): string {
  if (!result.success) return result.error_code === 'TOOL_NOT_FOUND' ? 'Tool not found' : 'Tool call failed'
  return slow ? `Tool '${redactText(result.tool_name)}' was slow: ${result.execution_time_ms}ms` : 'Tool call succeeded'
}

/**
 * The log may say what the envelope must not: which connection failed, and where the code of a tool did. Secrets stay
 * out of both.
 */
function behind(result: ToolFailure, cause: unknown): { reason?: string; stack?: string } {
  try {
    if (!(cause instanceof Error)) return {}
    const { message, stack } = cause
    const reason = String(message)
    return {
      ...(reason === '' || reason === result.error ? {} : { reason: redactText(reason) }),
      ...(result.error_code === 'EXECUTION_ERROR' ? { stack: redactText(String(stack), LONGEST_STACK) } : {}),
    }
  } catch {
    // What was thrown cannot be read.
    return {}
  }
}
