/** Every way a call can fail, with its HTTP status and whether a retry can help. */
export const TOOL_ERRORS = {
  TOOL_NOT_FOUND: { status: 404, retryable: false },
  INVALID_PARAMETERS: { status: 400, retryable: false },
  PERMISSION_DENIED: { status: 403, retryable: false },
  RATE_LIMITED: { status: 429, retryable: true },
  TIMEOUT: { status: 504, retryable: true },
  CANCELLED: { status: 499, retryable: false },
  SERVICE_UNAVAILABLE: { status: 503, retryable: true },
  RESULT_TOO_LARGE: { status: 500, retryable: false },
  EXECUTION_ERROR: { status: 500, retryable: false },
} as const

export type ToolErrorCode = keyof typeof TOOL_ERRORS

/** The error codes as constants. */
export const ToolErrorCode = Object.freeze(
  Object.fromEntries(Object.keys(TOOL_ERRORS).map((code) => [code, code])),
) as { readonly [code in ToolErrorCode]: code }

/** `path` is dotted (`user.emails[0]`), `rule` is the JSON Schema keyword that failed. */
export interface Problem {
  readonly path: string
  readonly rule: string
  readonly expected: unknown
}

export interface RequiredParameter {
  readonly name: string
  readonly type: string
  readonly description: string
}

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

/** The envelope that every call returns. */
export type ToolResult = ToolSuccess | ToolFailure

/** Tells that a call may be retried. */
export interface Repeat {
  /** The minimum delay, from the service's Retry-After. */
  readonly afterMs?: number
  /** Nothing was sent, so even a write may be retried. */
  readonly neverLeft?: boolean
}

interface ErrorParts extends ErrorOptions {
  readonly repeat?: Repeat | undefined
}

/** The error of a failed call, converted to an envelope by the executor. */
export class ToolExecutionError extends Error {
  readonly code: ToolErrorCode
  readonly extras: FailureExtras
  readonly repeat: Repeat | undefined

  constructor(code: ToolErrorCode, message: string, extras: FailureExtras = {}, parts?: ErrorParts) {
    super(message, parts)
    this.name = 'ToolExecutionError'
    this.code = code
    this.extras = extras
    this.repeat = parts?.repeat
  }
}
