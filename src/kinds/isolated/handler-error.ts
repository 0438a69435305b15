import { TOOL_ERRORS, type ToolErrorCode } from '../../core/tool-error-code.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { MAX_ERROR_CHARACTERS } from './protocol.ts'
import { isCode } from './thrown.ts'

/** What a handler threw, rebuilt from its words alone. */
export function handlerError(text: string, code: unknown): Error {
  const message = text.slice(0, MAX_ERROR_CHARACTERS)
  if (isCode(code) && Object.hasOwn(TOOL_ERRORS, code)) return new ToolExecutionError(code as ToolErrorCode, message)
  return Object.assign(new Error(message), isCode(code) ? { code } : {})
}
