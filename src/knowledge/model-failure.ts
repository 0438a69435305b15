import { unavailable } from '../core/failure.ts'
import { ToolExecutionError } from '../core/tool-result.ts'
import { ModelError } from '../models/model-error.ts'

/** Retrying doesn't help. */
const isRefusal = (status: number | undefined): boolean =>
  status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429

/** Converts a model's failure to a tool error. */
export function modelFailure(thrown: unknown, tool: string): ToolExecutionError {
  if (thrown instanceof ToolExecutionError) return thrown
  // Other errors may contain addresses.
  if (!(thrown instanceof ModelError)) {
    return new ToolExecutionError('SERVICE_UNAVAILABLE', unavailable(tool), {}, { cause: thrown })
  }
  const { message, status, retryAfterMs } = thrown
  if (isRefusal(status)) {
    return new ToolExecutionError('EXECUTION_ERROR', `The model refused: ${message}`, {}, { cause: thrown })
  }
  return new ToolExecutionError(
    'SERVICE_UNAVAILABLE',
    `${unavailable(tool)} ${message}`,
    {},
    { cause: thrown, ...(retryAfterMs !== undefined && { repeat: { afterMs: retryAfterMs } }) },
  )
}
