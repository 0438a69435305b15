import { ToolExecutionError } from '../../../core/tool-execution-error.ts'

/**
 * Error for an invalid implementation: its message names the key, the problem and what to do, always on one line.
 */
export function unfitImplementation(sentence: string): ToolExecutionError {
  const line = sentence.replace(/\p{Cc}/gu, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return new ToolExecutionError('EXECUTION_ERROR', line)
}

const MAX_QUOTED = 80
/** Characters that JSON doesn't escape, but that change how a terminal shows the text. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** Error for a value that can't be sent in its place. */
export function refusedParameter(parameter: string, value: unknown, reason: string): ToolExecutionError {
  return new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${parameter} ${reason}: ${quoted(value)}`)
}

/** A value as JSON on one line, truncated. */
function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  const cut = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED - 1)}…` : text
  return cut
    .toWellFormed()
    .replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
