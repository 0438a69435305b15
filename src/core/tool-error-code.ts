/** Every way a call can fail, with the HTTP status it maps to and whether trying again can help. */
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

/** The codes by name, so that callers compare with `ToolErrorCode.TIMEOUT` instead of a string of their own. */
export const ToolErrorCode = Object.freeze(
  Object.fromEntries(Object.keys(TOOL_ERRORS).map((code) => [code, code])),
) as { readonly [code in ToolErrorCode]: code }
