export interface ModelErrorOptions extends ErrorOptions {
  /** The HTTP status the provider answered with. */
  readonly status?: number
  /** Whether asking again may help: 408, 429, 5xx, a connection that failed. */
  readonly retryable?: boolean
  /** How long the provider asks to be left alone. */
  readonly retryAfterMs?: number
}

/** A model that did not answer. The message says which, why, and what to do, and holds no key and no address. */
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
