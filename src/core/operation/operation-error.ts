/** Why something that a person or a program asked for isn't possible, each with its HTTP status. */
export const OPERATION_ERRORS = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  unprocessable: 422,
  too_many: 429,
} as const
type OperationErrorCode = keyof typeof OPERATION_ERRORS

/** An act that isn't possible. Each face words it: as a problem with a status, or as an error of the command. */
export class OperationError extends Error {
  readonly code: OperationErrorCode
  /** What to do. */
  readonly hint: string | undefined
  /** What was not found. */
  readonly missing: string | undefined

  constructor(code: OperationErrorCode, message: string, hint?: string, missing?: string) {
    super(message)
    this.name = 'OperationError'
    this.code = code
    this.hint = hint
    this.missing = missing
  }
}

export const INVALID = 'The request is not valid'

/** An input that the schema allows and that is still not valid. */
export const invalid = (problem: string): OperationError => new OperationError('invalid', INVALID, problem)

/** The value; throws `not_found` if there is none. `thing` is such as `Approval`. */
export function found<Value>(value: Value | undefined, thing: string, name: string, hint?: string): Value {
  if (value === undefined) throw new OperationError('not_found', `${thing} '${name}' not found`, hint, name)
  return value
}
