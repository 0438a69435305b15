import type { ToolErrorCode } from './tool-error-code.ts'
import type { FailureExtras } from './tool-result.ts'

/** The one error of the system: thrown inside, turned into an envelope at the border. */
export class ToolExecutionError extends Error {
  readonly code: ToolErrorCode
  readonly extras: FailureExtras

  constructor(code: ToolErrorCode, message: string, extras: FailureExtras = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ToolExecutionError'
    this.code = code
    this.extras = extras
  }
}
