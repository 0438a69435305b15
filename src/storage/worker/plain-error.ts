import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { PlainError } from './messages.ts'

/** What a caller in another thread gets to know of an error: of one that is not ours, that there was one. */
export function plainError(error: unknown): PlainError {
  if (error instanceof ToolExecutionError) return { code: error.code, message: error.message }
  return { code: 'EXECUTION_ERROR', message: 'The store failed: look at the log of the server' }
}

/** The fields of a log line as plain data: an error keeps its name, its sentence, its code and where it was thrown. */
export function plainFields(fields: object): object {
  try {
    return JSON.parse(JSON.stringify(fields, (_name, value) => (value instanceof Error ? describe(value) : value)))
  } catch {
    return {}
  }
}

const describe = (error: Error): object => ({
  type: error.name,
  message: error.message,
  ...('code' in error && { code: error.code }),
  stack: error.stack,
  ...(error.cause instanceof Error && { cause: describe(error.cause) }),
})
