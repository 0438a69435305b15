import { ToolExecutionError } from '../../core/tool-execution-error.ts'

const SHOWN = 60

/** What was asked of the store is a mistake of who asks. */
export const refused = (message: string): ToolExecutionError => new ToolExecutionError('INVALID_PARAMETERS', message)

/** A value as it may stand in a sentence. */
export const quoted = (value: string): string => `'${value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value}'`
