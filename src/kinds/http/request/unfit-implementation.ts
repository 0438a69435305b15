import { ToolExecutionError } from '../../../core/tool-execution-error.ts'

/**
 * That a tool cannot be called as it is written: a sentence with the key, what is wrong with it, and what to do. It is one
 * line, whatever the names in it hold.
 */
export function unfitImplementation(sentence: string): ToolExecutionError {
  const line = sentence.replace(/\p{Cc}/gu, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return new ToolExecutionError('EXECUTION_ERROR', line)
}
