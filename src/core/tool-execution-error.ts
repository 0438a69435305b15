import type { ToolErrorCode } from './tool-error-code.ts'
import type { FailureExtras } from './tool-result.ts'

/** That a call may be tried again, by whoever knows what failed. */
export interface Repeat {
  /** Not before so many milliseconds: what the service asked for. */
  readonly afterMs?: number
  /** Nothing was sent, so that even a write may be repeated. */
  readonly neverLeft?: boolean
}

/** What an error may carry that is not for the caller. */
export interface ErrorParts extends ErrorOptions {
  readonly repeat?: Repeat | undefined
}

/** The one error of the system: thrown inside, turned into an envelope at the border. */
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
