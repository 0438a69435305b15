import type { ToolErrorCode } from '../core/tool-error-code.ts'
import type { ToolFailure, ToolResult } from '../core/tool-result.ts'

const REFUSALS: ReadonlySet<ToolErrorCode> = new Set([
  'TOOL_NOT_FOUND',
  'INVALID_PARAMETERS',
  'PERMISSION_DENIED',
  'RATE_LIMITED',
])

/** The tool that was to run before the answer was refused: no model has been asked. */
export class ToolRefusedError extends Error {
  readonly result: ToolFailure

  constructor(result: ToolFailure) {
    super(result.error)
    this.name = 'ToolRefusedError'
    this.result = result
  }
}

/** Whether a call was turned away before anything ran. */
export const isRefusal = (result: ToolResult): result is ToolFailure =>
  !result.success && REFUSALS.has(result.error_code)
