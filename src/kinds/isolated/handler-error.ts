import { TOOL_ERRORS, type ToolErrorCode } from '../../core/tool-error-code.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { type ChildMessage, MAX_ERROR_CHARACTERS, MAY_HAVE_HAPPENED } from './protocol.ts'
import { isCode } from './thrown.ts'

type Failed = Extract<ChildMessage, { type: 'failed' }>

/** What a handler threw, rebuilt from its words alone. */
export function handlerError({ message: text, code, outcome }: Omit<Failed, 'type' | 'id'>): Error {
  const message = text.slice(0, MAX_ERROR_CHARACTERS)
  const known = isCode(code) && Object.hasOwn(TOOL_ERRORS, code) ? (code as ToolErrorCode) : undefined
  if (outcome !== undefined) return new ToolExecutionError(known ?? 'EXECUTION_ERROR', message, MAY_HAVE_HAPPENED)
  if (known !== undefined) return new ToolExecutionError(known, message)
  return Object.assign(new Error(message), isCode(code) ? { code } : {})
}
