import { STATUS_CODES } from 'node:http'
import { unavailable } from '../../../core/failure.ts'
import { type Repeat, ToolExecutionError } from '../../../core/tool-execution-error.ts'
import { MAY_HAVE_RUN } from '../exchange/exchange-error.ts'
import type { HttpResponse } from '../outgoing-request.ts'
import type { SecretValues } from '../secret-values.ts'
import { excerptOf } from './excerpt.ts'
import { retryAfterMs } from './retry-after.ts'

const REPEATABLE: ReadonlySet<number> = new Set([408, 429])

/** What an answer means whose status is not a success. */
export function statusError(
  response: HttpResponse,
  tool: string,
  secrets: SecretValues,
  wallMs: number,
): ToolExecutionError {
  const { headers, status } = response
  const afterMs = retryAfterMs(headers['retry-after'], wallMs)
  const repeat: Repeat = afterMs === undefined ? {} : { afterMs }
  if (status >= 500) {
    return new ToolExecutionError('SERVICE_UNAVAILABLE', `${unavailable(tool)} It answered ${status}.`, MAY_HAVE_RUN, {
      repeat,
    })
  }
  const words = excerptOf(response, secrets)
  const answered = [status, STATUS_CODES[status]].filter((part) => part !== undefined).join(' ')
  return new ToolExecutionError(
    'EXECUTION_ERROR',
    `The service behind tool '${tool}' answered ${answered}${words === '' ? '' : `: ${words}`}`,
    {},
    REPEATABLE.has(status) ? { repeat } : {},
  )
}
