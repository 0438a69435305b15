import { ToolExecutionError } from '../../../core/tool-execution-error.ts'

/** That a setting of `auth` cannot be sent as it is. The value is not quoted: it may be the secret. */
export const unfitAuth = (tool: string, key: string, problem: string): ToolExecutionError =>
  new ToolExecutionError(
    'EXECUTION_ERROR',
    `Tool '${tool}' cannot show who it is: implementation.${key} ${problem}. Check it, or the variable that it is taken from.`,
  )
