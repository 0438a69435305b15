import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { boundedJson, redactText } from '../redact.ts'
import type { ToolFailure, ToolResult } from '../tool-result.ts'
import type { Call } from './call.ts'

const SLOW_MS = 1_000
const MAX_STACK = 2_000

/** Logs one call. A failing log must not fail the call. */
export function logCall(log: Log, call: Call, result: ToolResult, clock: Clock, cause?: unknown): void {
  try {
    const slow = result.execution_time_ms > SLOW_MS
    const level = result.success && !slow ? 'info' : 'warn'
    if (!log.isLevelEnabled(level)) return
    const fields = fieldsOf(call, result, clock, cause)
    const message = messageOf(result, slow)
    if (log.writeJson !== undefined) log.writeJson(level, fields, message)
    else log[level](JSON.parse(`{${fields}}`), message)
  } catch {
    // There is no other place to report it.
  }
}

/** Serialized and redacted in one pass, the most expensive part of a small call. */
function fieldsOf(call: Call, result: ToolResult, clock: Clock, cause: unknown): string {
  const params = call.params === undefined ? '' : `,"params":${boundedJson(call.params)}`
  const outcome = result.success
    ? `"success":true,"result":${boundedJson(result.result)}`
    : `"success":false,${failureFields(result, cause)}`
  return (
    `"tool":${text(call.tool)},"tenant":${text(String(call.tenant))}${params},${outcome}` +
    `,"execution_time_ms":${result.execution_time_ms},"timestamp":"${isoTime(clock.wall())}"`
  )
}

function failureFields(result: ToolFailure, cause: unknown): string {
  let fields = `"error":${text(result.error)},"error_code":"${result.error_code}"`
  try {
    // The log may name the connection or the line that failed. The envelope must not.
    if (!(cause instanceof Error)) return fields
    const { message, stack } = cause
    const reason = String(message)
    if (reason !== '' && reason !== result.error) fields += `,"reason":${text(reason)}`
    if (result.error_code === 'EXECUTION_ERROR') fields += `,"stack":${text(String(stack), MAX_STACK)}`
  } catch {
    // A getter of the thrown error threw.
  }
  return fields
}

function messageOf(result: ToolResult, slow: boolean): string {
  if (!result.success) return result.error_code === 'TOOL_NOT_FOUND' ? 'Tool not found' : 'Tool call failed'
  return slow ? `Tool '${redactText(result.tool_name)}' was slow: ${result.execution_time_ms}ms` : 'Tool call succeeded'
}

const text = (value: string, maxLength?: number): string => JSON.stringify(redactText(value, maxLength))

let second = Number.NaN
let prefix = ''

/** Caches the current second: `Date.toISOString` is expensive. */
function isoTime(ms: number): string {
  const whole = Math.floor(ms / 1_000)
  if (whole !== second) {
    second = whole
    prefix = new Date(whole * 1_000).toISOString().slice(0, -4)
  }
  return `${prefix}${String(Math.floor(ms - whole * 1_000)).padStart(3, '0')}Z`
}
