/** OpenAI's kinds of errors, as far as there are any here. */
export type OpenAiErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'server_error'

export interface OpenAiErrorFacts {
  readonly type?: OpenAiErrorType
  /** The field of the request that is at fault. */
  readonly param?: string
  readonly code?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Why a request of an OpenAI client is not answered, in the form that such clients read. */
export class OpenAiError extends Error {
  readonly status: number
  readonly facts: OpenAiErrorFacts

  constructor(status: number, message: string, facts: OpenAiErrorFacts = {}) {
    super(message)
    this.name = 'OpenAiError'
    this.status = status
    this.facts = facts
  }

  toJSON(): object {
    const { type = typeOf(this.status), param = null, code = null } = this.facts
    return { error: { message: this.message, type, param, code } }
  }
}

/** A request that says what cannot be done. */
export const invalid = (param: string, message: string, code?: string): OpenAiError =>
  new OpenAiError(400, message, { param, ...(code !== undefined && { code }) })

function typeOf(status: number): OpenAiErrorType {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
