import type { Call } from './call.ts'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'
import { redact, redactText } from './redact.ts'
import type { ToolResult } from './tool-result.ts'

const SLOW_MS = 1_000

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
    tenant: call.tenant,
    params: redact(call.params),
    success: result.success,
    ...(result.success
      ? { result: redact(result.result) }
      : { error: redactText(result.error), error_code: result.error_code, reason: redactText(reasonOf(cause)) }),
    execution_time_ms: result.execution_time_ms,
    timestamp: new Date(clock.wall()).toISOString(),
  }
  log[level](fields, sentence(result, slow))
}

function sentence(result: ToolResult, slow: boolean): string {
  if (!result.success) return result.error_code === 'TOOL_NOT_FOUND' ? 'Tool not found' : 'Tool call failed'
  return slow ? `Tool '${redactText(result.tool_name)}' was slow: ${result.execution_time_ms}ms` : 'Tool call succeeded'
}

/** The log may say what the envelope must not: which connection failed, say. Secrets stay out of both. */
function reasonOf(cause: unknown): string {
  return cause instanceof Error && typeof cause.message === 'string' ? cause.message : ''
}
