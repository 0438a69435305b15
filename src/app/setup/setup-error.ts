import { OperationError } from '../../core/operation/operation-error.ts'

const CODES = { 409: 'conflict', 422: 'unprocessable', 429: 'too_many' } as const

/** A request to change the configuration that is refused. The message says why and what to do, and has no secrets. */
export class SetupError extends OperationError {
  override readonly name = 'SetupError'
  /** 409: the configuration has changed meanwhile. 422: the change can't be made. 429: too many at the same time. */
  readonly status: keyof typeof CODES

  constructor(status: keyof typeof CODES, message: string) {
    super(CODES[status], message)
    this.status = status
  }
}
