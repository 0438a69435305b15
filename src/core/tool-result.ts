import type { ToolErrorCode } from './tool-error-code.ts'

/** One fault in the parameters. `path` is dotted (`user.emails[0]`), `rule` the JSON Schema keyword that failed. */
export interface Problem {
  readonly path: string
  readonly rule: string
  readonly expected: unknown
}

/** A parameter that the tool cannot do without. */
export interface RequiredParameter {
  readonly name: string
  readonly type: string
  readonly description: string
}

/** What a failure may carry besides its sentence. */
export interface FailureExtras {
  readonly details?: { readonly problems: readonly Problem[]; readonly required: readonly RequiredParameter[] }
  readonly suggestions?: readonly string[]
  readonly outcome?: 'unknown'
}

export interface ToolSuccess {
  readonly success: true
  readonly result: unknown
  readonly tool_name: string
  readonly execution_time_ms: number
}

export interface ToolFailure extends FailureExtras {
  readonly success: false
  readonly error: string
  readonly error_code: ToolErrorCode
  readonly tool_name: string
  readonly execution_time_ms: number
}

/** The envelope: what every call ends in. */
export type ToolResult = ToolSuccess | ToolFailure
