import { quoted } from '../../../core/schema/problem-words.ts'
import { ToolExecutionError } from '../../../core/tool-result.ts'

/**
 * Error for an invalid implementation: its message names the key, the problem and what to do, always on one line.
 */
export function unfitImplementation(sentence: string): ToolExecutionError {
  const line = sentence.replace(/\p{Cc}/gu, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return new ToolExecutionError('EXECUTION_ERROR', line)
}

export function refusedParameter(parameter: string, value: unknown, reason: string): ToolExecutionError {
  return new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${parameter} ${reason}: ${quoted(value)}`)
}
