import { ToolExecutionError } from '../../../core/tool-execution-error.ts'

/**
 * That a tool cannot be called as it is written: a sentence with the key, what is wrong with it, and what to do. It is one
 * line, whatever the names in it hold.
 */
export function unfitImplementation(sentence: string): ToolExecutionError {
  const line = sentence.replace(/\p{Cc}/gu, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return new ToolExecutionError('EXECUTION_ERROR', line)
}

const LONGEST_VALUE = 80
/** What JSON writes as it is, and a terminal or a log would act on. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** That a value cannot be sent where its parameter goes. */
export function refusedParameter(parameter: string, value: unknown, reason: string): ToolExecutionError {
  return new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${parameter} ${reason}: ${quoted(value)}`)
}

/** A value as JSON on one line, cut where it is long. */
function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  const cut = text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE - 1)}…` : text
  return cut
    .toWellFormed()
    .replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
