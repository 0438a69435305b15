import { STATUS_CODES } from 'node:http'
import type { Clock } from '../../../core/clock.ts'
import { retryAfterMs, unavailable } from '../../../core/failure.ts'
import { type Repeat, ToolExecutionError } from '../../../core/tool-result.ts'
import { PathTooMuch } from '../../path/path-filter.ts'
import type { HttpMethod } from '../definition/http-implementation.ts'
import type { SecretValues } from '../definition/secret-values.ts'
import { brokenAnswer, MAY_HAVE_RUN } from '../exchange/exchange-error.ts'
import type { HttpResponse } from '../exchange/outgoing-request.ts'
import { excerptOf, readBody } from './read-body.ts'
import type { ResponseShape } from './response-shape.ts'

export interface Reading {
  readonly tool: string
  readonly method: HttpMethod
  readonly shape: ResponseShape
  readonly clock: Clock
}

const TOLD = ['content-type', 'content-length', 'etag', 'last-modified'] as const

/** Turns a response into the result of a tool; throws if it is an error. */
export function readResponse(response: HttpResponse, reading: Reading, secrets: SecretValues): unknown {
  const { method, shape, tool } = reading
  checkStatus(response, reading, secrets)
  if (method === 'HEAD') return secrets.scrubValue(headersOnly(response))
  const { tainted, value } = readBody(response, tool, secrets, shape.needsJson)
  const shaped = shapeOf(value, reading)
  return tainted ? secrets.scrubValue(shaped) : shaped
}

export function checkStatus(response: HttpResponse, { clock, tool }: Reading, secrets: SecretValues): void {
  if (response.status >= 300) throw statusError(response, tool, secrets, clock.wall())
}

export function shapeOf(value: unknown, { shape, tool }: Reading): unknown {
  return lookingThrough(tool, () => shape.apply(value))
}

/** Runs a JSONPath and reports if it takes too many steps. */
export function lookingThrough<Found>(tool: string, look: () => Found): Found {
  try {
    return look()
  } catch (error) {
    if (!(error instanceof PathTooMuch)) throw error
    throw brokenAnswer(
      `The service behind tool '${tool}' answered with more than a JSONPath can search: request less, or write the path without '..' and filters`,
    )
  }
}

function headersOnly({ headers, status }: HttpResponse): unknown {
  const told = TOLD.filter((name) => headers[name] !== undefined)
  return { status, headers: Object.fromEntries(told.map((name) => [name, headers[name]])) }
}

const REPEATABLE: ReadonlySet<number> = new Set([408, 429])

export function statusError(
  response: HttpResponse,
  tool: string,
  secrets: SecretValues,
  wallMs: number,
): ToolExecutionError {
  const { headers, status } = response
  const afterMs = retryAfterMs(headers['retry-after'], wallMs)
  const repeat: Repeat = afterMs === undefined ? {} : { afterMs: Math.min(afterMs, MAX_RETRY_AFTER_MS) }
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

const MAX_RETRY_AFTER_MS = 3_600_000
