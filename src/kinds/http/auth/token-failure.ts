import type { ToolErrorCode } from '../../../core/tool-error-code.ts'
import { type Repeat, ToolExecutionError } from '../../../core/tool-execution-error.ts'

/** That there is no token, and why. Tools that wait for the same one fail for the same reason, each by its own name. */
export class TokenFailure extends Error {
  readonly code: ToolErrorCode
  readonly repeat: Repeat | undefined

  constructor(code: ToolErrorCode, reason: string, repeat?: Repeat) {
    super(reason)
    this.name = 'TokenFailure'
    this.code = code
    this.repeat = repeat
  }

  of(tool: string): ToolExecutionError {
    const message = `Tool '${tool}' got no access token: ${this.message}`
    return new ToolExecutionError(this.code, message, {}, { repeat: this.repeat })
  }
}
