interface ModelErrorOptions extends ErrorOptions {
  readonly status?: number | undefined
  /** Whether a retry may help: 408, 429, 5xx or a failed connection. */
  readonly retryable?: boolean
  /** From the provider's `retry-after`. */
  readonly retryAfterMs?: number | undefined
}

/** A failed request to a model. The message names the model, the reason and the fix, and contains no key or address. */
export class ModelError extends Error {
  readonly status: number | undefined
  readonly retryable: boolean
  readonly retryAfterMs: number | undefined

  constructor(message: string, { status, retryable = false, retryAfterMs, ...rest }: ModelErrorOptions = {}) {
    super(message, rest)
    this.name = 'ModelError'
    this.status = status
    this.retryable = retryable
    this.retryAfterMs = retryAfterMs
  }
}

/** An id without a known provider. */
export class UnknownModelError extends ModelError {
  override readonly name = 'UnknownModelError'
}

/** Adds the id of a model to the message of an error; anything but a `ModelError` becomes one. */
export function withModelId(id: string, error: unknown, given?: unknown): ModelError {
  // Logs append the message of the cause, which would repeat that of a `ModelError`.
  const cause = given ?? (error instanceof ModelError ? error.cause : error)
  if (!(error instanceof ModelError)) return new ModelError(`${id}: the provider failed unexpectedly`, { cause })
  const { message, status, retryable, retryAfterMs } = error
  return new ModelError(`${id}: ${message}`, { cause, status, retryable, retryAfterMs })
}
